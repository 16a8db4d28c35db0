#pragma once

#include <nccl.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tutti/communicator.hpp"
#include "tutti/share.hpp"

namespace tutti::nccl_adapter {

/// Makes the rendezvous of a new communicator; blocks until the ranks meet.
using Meeting = std::function<Rendezvous()>;

/// A sum whose inputs are multiplied first.
struct PreMulSum {
  double factor;
  ncclDataType_t type;
};

struct Settings {
  bool is_blocking = true;
  std::string name = "nccl";
};

/// Of a configuration of any version; keeps `parent` where nothing is set. Throws Error{invalid_argument} for one that
/// was not initialised with NCCL_CONFIG_INITIALIZER.
[[nodiscard]] Settings settings_of(const ncclConfig_t* config, const Settings& parent);

}  // namespace tutti::nccl_adapter

/// NCCL's opaque communicator.
struct ncclComm {
 public:
  ncclComm(int rank, int size, tutti::nccl_adapter::Settings settings);
  ~ncclComm();
  ncclComm(const ncclComm&) = delete;
  ncclComm& operator=(const ncclComm&) = delete;

  /// Throws Error{invalid_argument} for a null pointer and for one that is no living communicator.
  static ncclComm& of(ncclComm_t comm);

  /// Meets the other ranks, in a thread of its own unless the communicator is blocking.
  void begin(tutti::nccl_adapter::Meeting meeting);
  /// Does the same in this thread.
  void create(const tutti::nccl_adapter::Meeting& meeting);

  /// The communicator; a handle, so that it stays valid when another thread aborts. Throws Error{invalid_usage} while
  /// it is being created, the error if that failed, and Error{aborted} once it is revoked.
  [[nodiscard]] tutti::Communicator use() const;
  /// Rendezvous of its ranks, for new communicators of them. Throws as use(), but not for a revoked one.
  [[nodiscard]] const tutti::Rendezvous& rendezvous() const;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] const tutti::nccl_adapter::Settings& settings() const noexcept { return settings_; }

  /// ncclInProgress while it is being created, then ncclSuccess or the first error of an operation on a stream.
  [[nodiscard]] ncclResult_t state();
  /// Keeps an operation on a stream, whose error state() tells.
  void follow(tutti::Work work);

  /// Ends all operations; later ones fail.
  void revoke() noexcept;
  /// Blocks until it has been created or that has failed.
  void settle();

  [[nodiscard]] ncclRedOp_t add(tutti::nccl_adapter::PreMulSum reduction);
  void remove(ncclRedOp_t op);
  [[nodiscard]] tutti::nccl_adapter::PreMulSum find(ncclRedOp_t op) const;

  int device = 0;  ///< CUDA's number of it; 0 without CUDA

 private:
  void check_created() const;

  const int rank_;
  const int size_;
  const tutti::nccl_adapter::Settings settings_;
  std::atomic<ncclResult_t> state_ = ncclInProgress;
  std::atomic<bool> is_revoked_ = false;
  std::thread creator_;
  // Written before state_ leaves ncclInProgress.
  std::optional<tutti::Rendezvous> rendezvous_;
  tutti::Communicator communicator_;
  std::string failure_;
  mutable std::mutex mutex_;  // of all below
  std::map<ncclRedOp_t, tutti::nccl_adapter::PreMulSum> reductions_;
  int next_reduction_ = ncclNumOps;
  tutti::Work last_;
};

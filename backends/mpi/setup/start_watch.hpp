#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "launch/mpi_launch.hpp"
#include "setup/setup_calls.hpp"
#include "setup/siblings.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/file_descriptor.hpp"

namespace tutti::mpi {

/// Watches the other ranks of this host while MPI is started and the ranks meet over it, when the job has no store yet.
/// When one ends, calls() are given up at once; when MPI_Init takes longer than the timeout, too.
class StartWatch {
 public:
  /// `launch`: with a size above 1. `timeout`: of MPI_Init; nothing: no limit. Throws Error{system} without a thread.
  StartWatch(const Launch& launch, std::optional<std::chrono::nanoseconds> timeout);
  ~StartWatch();
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

  [[nodiscard]] SetupCalls& calls() noexcept { return calls_; }
  /// MPI runs: the timeout does not apply any more.
  void note_started() noexcept { is_started_.store(true); }
  /// The error of a step that the other ranks did not take part in within the timeout.
  [[nodiscard]] Error late(const std::string& step) const;

 private:
  void serve();
  [[nodiscard]] bool has_unseen() const;
  [[nodiscard]] std::optional<Error> find_failure(int patience_ms);

  Launch launch_;
  std::optional<std::chrono::nanoseconds> timeout_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  SetupCalls calls_;
  mutable std::mutex mutex_;  ///< of siblings_
  Siblings siblings_;
  std::atomic<bool> is_started_ = false;
  std::atomic<bool> is_over_ = false;
  spi::FileDescriptor wake_;  ///< eventfd that ends the wait of the thread
  std::thread thread_;
};

/// Error{timeout}: the ranks did not take part in `step` within `timeout`. `absent` says more, or is empty.
[[nodiscard]] Error late_start(const Launch& launch, std::chrono::nanoseconds timeout, const std::string& step,
                               const std::string& absent);

}  // namespace tutti::mpi

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mpi_api.hpp"
#include "mpi_split.hpp"
#include "tutti/operation.hpp"
#include "tutti/spi/backend.hpp"

namespace tutti::mpi {

class Communicator;

/// What an operation needs besides the user's memory while MPI works on it.
class Storage {
 public:
  Storage() = default;
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  /// Memory for a result that MPI may not write where tutti wants it; finish() copies it there. Kept for the next time.
  [[nodiscard]] void* result_for(void* destination, std::uint64_t bytes);
  /// The rest of the work when MPI is done.
  void finish();

  std::vector<int> narrow;          ///< layouts in MPI's int
  std::vector<std::uint64_t> wide;  ///< displacements where the user gave none
  std::unique_ptr<Split> split;

 private:
  std::unique_ptr<std::byte[]> result_;
  std::uint64_t result_capacity_ = 0;
  void* destination_ = nullptr;
  std::uint64_t destination_bytes_ = 0;
};

/// One or more operations under way. The timeout of `operation` is theirs together, counted from here.
class Pending final : public spi::PendingOperation {
 public:
  /// `operation` is what messages speak of.
  Pending(Communicator& communicator, const Operation& operation);
  /// MPI cannot cancel: what is not complete keeps its memory for ever, and the communicator is given up.
  ~Pending() override;

  /// A place for the request of one more call. Valid until the next.
  [[nodiscard]] MPI_Request* add_request();
  /// Takes the last one back: its call failed and left no request.
  void remove_request() noexcept;
  /// Storage that lives until all is complete.
  [[nodiscard]] Storage& add_storage();

 private:
  bool do_poll() override;
  bool do_wait(spi::Deadline until) override;

  [[nodiscard]] std::span<MPI_Request> active() noexcept;
  [[nodiscard]] bool test_all();
  void wait_for_all();
  void complete();

  Communicator& communicator_;
  Operation operation_;
  spi::Deadline deadline_ = spi::Deadline::max();
  // Nearly always there is exactly one request; it needs no allocation.
  MPI_Request first_ = {};
  std::vector<MPI_Request> requests_;
  std::size_t count_ = 0;
  std::size_t done_ = 0;
  std::vector<std::unique_ptr<Storage>> storage_;
};

}  // namespace tutti::mpi

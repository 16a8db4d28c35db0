#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mpi_api.hpp"
#include "mpi_split.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/backend.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::mpi {

class Communicator;

/// Memory that an operation needs besides the user's buffers while MPI works on it.
class Storage {
 public:
  Storage() = default;
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  /// Temporary memory for a result that MPI cannot write to `destination` itself; finish() copies it there. The memory
  /// is kept for the next operation.
  [[nodiscard]] void* result_for(void* destination, std::uint64_t bytes);
  /// Copies results to their destinations. Call when MPI has completed the operation.
  void finish();

  std::vector<int> narrow;          ///< counts and displacements as MPI's int
  std::vector<std::uint64_t> wide;  ///< displacements, if the user gave none
  std::unique_ptr<Split> split;

 private:
  std::unique_ptr<std::byte[]> result_;
  std::uint64_t result_capacity_ = 0;
  void* destination_ = nullptr;
  std::uint64_t destination_bytes_ = 0;
};

/// One or more started operations. They share the timeout of `operation`, counted from the construction.
class Pending final : public spi::PendingOperation {
 public:
  /// Error texts name `operation`.
  Pending(Communicator& communicator, const Operation& operation);
  /// MPI cannot cancel operations: if some are not complete, their Storage is leaked, since MPI may still write to it,
  /// and the communicator is given up.
  ~Pending() override;

  /// Slot for the request of one more call, which carries out `part`. Valid until the next add_request().
  [[nodiscard]] MPI_Request* add_request(const Operation& part);
  /// Removes the last slot: its call failed and left no request.
  void remove_request() noexcept;
  /// Storage that lives until all operations are complete.
  [[nodiscard]] Storage& add_storage();

 private:
  bool do_poll() override;
  bool do_wait(spi::Deadline until) override;

  [[nodiscard]] std::span<MPI_Request> active() noexcept;
  /// Checks the length of the message if request `index` was a recv. complete() throws the error, when MPI has
  /// completed all requests.
  void check_length(std::size_t index, const MPI_Status& status);
  [[nodiscard]] bool test_all();
  void wait_for_all();
  void complete();

  Communicator& communicator_;
  Operation operation_;
  spi::Deadline deadline_ = spi::Deadline::max();
  // There is rarely more than one request, and the first needs no allocation.
  MPI_Request first_ = {};
  std::vector<MPI_Request> requests_;
  /// Operation of the first request if it is a recv.
  std::optional<Operation> first_receive_;
  /// A recv and the index of its request.
  struct Receive {
    std::size_t index;
    Operation operation;
  };
  std::vector<Receive> more_receives_;
  std::optional<Error> wrong_length_;
  std::size_t count_ = 0;
  std::size_t done_ = 0;
  std::vector<std::unique_ptr<Storage>> storage_;
};

}  // namespace tutti::mpi

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "mpi_issue.hpp"
#include "mpi_pending.hpp"
#include "mpi_runtime.hpp"
#include "tutti/spi/backend.hpp"
#include "tutti/spi/first_failure.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::mpi {

/// Operations, types and reductions that MPI supports: all but averages and prescaling.
[[nodiscard]] spi::Capabilities capabilities();

/// How to treat counts that exceed MPI's int.
struct CountLimits {
  std::uint64_t max_count = 2147483647;  ///< most elements in a call with int counts
  bool large_calls = true;               ///< above that, use MPI-4's functions if the library has them
};

/// A communicator over an MPI_Comm of its own.
class Communicator final : public spi::BackendCommunicator, private common::LibraryUser {
 public:
  /// Takes ownership of `comm`. The destructor frees it if MPI still runs and the communicator was not given up.
  Communicator(Runtime& runtime, MPI_Comm comm, const CountLimits& limits);
  ~Communicator() override;

  [[nodiscard]] const Api& api() const noexcept { return api_; }
  [[nodiscard]] const Group& group() const noexcept { return group_; }
  [[nodiscard]] ThreadGate& gate() const noexcept { return runtime_.gate(); }

  /// Throws the error for which the communicator was given up, if it was.
  void check_alive(const Operation& operation) const {
    if (failure_.has_failed()) [[unlikely]]
      failure_.rethrow(where(operation));
  }
  /// Throws Error{invalid_usage} if the message that `receive` got has another length than expected. MPI refuses longer
  /// messages itself, but takes shorter ones.
  void check_length(const Operation& receive, const MPI_Status& status) const;
  /// Throws Error{backend_failure} with MPI's error text for `code`.
  [[noreturn]] void fail(const Operation& operation, int code) const;
  /// Gives the communicator up because the operation's timeout has passed, and throws Error{timeout}.
  [[noreturn]] void fail_late(const Operation& operation);
  /// Makes the communicator unusable, because pending calls that MPI cannot cancel may remain. Later calls fail with
  /// the first cause.
  void give_up(const Error& cause) noexcept override;
  /// Its blocking calls into MPI, which do_interrupt() ends.
  using LibraryUser::calls;

 private:
  [[nodiscard]] std::vector<std::string> do_settings() const override;
  void do_run(const Operation& operation) override;
  bool do_may_reach(const Operation& operation) const override;
  bool do_reaches(const Operation& operation) override { return do_may_reach(operation); }
  std::unique_ptr<spi::PendingOperation> do_start(const Operation& operation) override;
  std::unique_ptr<spi::PendingOperation> do_start_group(std::span<const Operation> operations) override;
  void do_abort() noexcept override;
  [[nodiscard]] bool do_needs_watch() const noexcept override { return group_.size > 1; }
  bool do_interrupt(const Error& cause) noexcept override;

  /// Makes the MPI calls of an operation: blocking ones if `pending` is null, else non-blocking ones whose requests go
  /// to `pending`. Also for operations that are not one plain call.
  void carry_out(const Operation& operation, int tag, Pending* pending);
  void carry_out_vector(const Operation& operation, Pending* pending);
  void carry_out_split(const Operation& operation, Pending* pending);
  void call_narrow_vector(const Operation& operation, Storage& storage, Pending* pending);
  void call_wide_vector(const Operation& operation, Storage& storage, Pending* pending);
  template <typename Blocking, typename Nonblocking, typename Layouts>
  void call(const Blocking& blocking, const Nonblocking& nonblocking, const Operation& operation,
            const Layouts& layouts, int tag, Pending* pending);
  void combine_alone(const Operation& operation);
  /// Carries out a vector form on one rank as a copy: MPICH 4.0 ignores the displacement.
  static void copy_alone(const Operation& operation);

  [[nodiscard]] bool is_plain(const Operation& operation) const noexcept;
  [[nodiscard]] bool is_plain_allreduce(const Operation& operation) const noexcept {
    return operation.count < plain_allreduce_end_ && !failure_.has_failed();
  }
  [[gnu::noinline]] void run_any(const Operation& operation);
  /// Whether MPI cannot write the result to the output itself, so that it must be copied there.
  [[nodiscard]] bool is_moved(const Operation& operation) const noexcept;
  [[nodiscard]] std::string where(const Operation& operation) const;
  /// Throws the error for which the communicator was given up.
  [[noreturn]] static void raise(const void* communicator, const Operation& operation);

  const Api& api_;
  Group group_;
  std::uint64_t max_count_;
  bool large_calls_;
  bool reduces_in_place_;
  std::uint32_t plain_kinds_;
  std::uint64_t plain_allreduce_end_;  ///< an allreduce of fewer elements is exactly one blocking call
  spi::FirstFailure failure_;
  Runtime& runtime_;
  Storage storage_;
};

}  // namespace tutti::mpi

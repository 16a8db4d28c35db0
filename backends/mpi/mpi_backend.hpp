#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/first_failure.hpp"
#include "mpi_issue.hpp"
#include "mpi_pending.hpp"
#include "mpi_runtime.hpp"
#include "tutti/spi/backend.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::mpi {

/// What MPI does by itself: everything but averages and prescaling.
[[nodiscard]] spi::Capabilities capabilities();

/// When a count is too large for MPI's int.
struct CountLimits {
  std::uint64_t max_count = 2147483647;  ///< what a plain call is given at most
  bool large_calls = true;               ///< above that take MPI-4's functions where the library has them
};

/// A communicator over an MPI_Comm of its own.
class Communicator final : public spi::BackendCommunicator {
 public:
  /// Owns `comm`, and frees it if MPI still runs and the communicator was not given up.
  Communicator(Runtime& runtime, MPI_Comm comm, const CountLimits& limits);
  ~Communicator() override;

  [[nodiscard]] const Api& api() const noexcept { return api_; }
  [[nodiscard]] const Group& group() const noexcept { return group_; }
  [[nodiscard]] ThreadGate& gate() const noexcept { return runtime_.gate(); }

  /// Throws what the communicator was given up for, once it was.
  void check_alive(const Operation& operation) const {
    if (failure_.has_failed()) [[unlikely]]
      failure_.rethrow(where(operation));
  }
  /// Throws what MPI said about an operation.
  [[noreturn]] void fail(const Operation& operation, int code) const;
  /// Gives up, because the operation's time is over, and throws Error{timeout}.
  [[noreturn]] void fail_late(const Operation& operation);
  /// No further use: calls that MPI cannot cancel are still under way. The first cause is what later calls fail with.
  void give_up(const Error& cause) noexcept;

 private:
  void do_run(const Operation& operation) override;
  bool do_may_reach(const Operation& operation) const override;
  bool do_reaches(const Operation& operation) override { return do_may_reach(operation); }
  std::unique_ptr<spi::PendingOperation> do_start(const Operation& operation) override;
  std::unique_ptr<spi::PendingOperation> do_start_group(std::span<const Operation> operations) override;
  void do_abort() noexcept override;

  /// The calls of an operation: made and complete when `pending` is null, else under way in it. Everything that is not
  /// one plain call is below here.
  void carry_out(const Operation& operation, int tag, Pending* pending);
  void carry_out_vector(const Operation& operation, Pending* pending);
  void carry_out_split(const Operation& operation, Pending* pending);
  void call_narrow_vector(const Operation& operation, Storage& storage, Pending* pending);
  void call_wide_vector(const Operation& operation, Storage& storage, Pending* pending);
  template <typename Blocking, typename Nonblocking, typename Layouts>
  void call(const Blocking& blocking, const Nonblocking& nonblocking, const Operation& operation,
            const Layouts& layouts, int tag, Pending* pending);
  void combine_alone(const Operation& operation);
  /// A vector form of one rank: MPICH 4.0 forgets the displacement.
  static void copy_alone(const Operation& operation);

  [[nodiscard]] bool is_plain(const Operation& operation) const noexcept;
  [[nodiscard]] bool is_plain_allreduce(const Operation& operation) const noexcept {
    return operation.count < plain_allreduce_end_ && !failure_.has_failed();
  }
  [[gnu::noinline]] void run_any(const Operation& operation);
  /// Whether MPI cannot write the result where it belongs, so that it has to be copied there.
  [[nodiscard]] bool is_moved(const Operation& operation) const noexcept;
  [[nodiscard]] std::string where(const Operation& operation) const;

  const Api& api_;
  Group group_;
  std::uint64_t max_count_;
  bool large_calls_;
  bool reduces_in_place_;
  std::uint32_t plain_kinds_;
  std::uint64_t plain_allreduce_end_;  ///< with fewer elements an allreduce is one blocking call and nothing else
  common::FirstFailure failure_;
  Runtime& runtime_;
  Storage storage_;
};

}  // namespace tutti::mpi

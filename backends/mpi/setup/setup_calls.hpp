#pragma once

#include <atomic>
#include <string>

#include "common/library_users.hpp"
#include "tutti/spi/first_failure.hpp"

namespace tutti::mpi {

/// Blocking calls with which this process starts MPI or makes a communicator. They wait without a limit for other
/// ranks; a watch in another thread ends them through Runtime::users().
class SetupCalls final : public common::LibraryUser {
 public:
  /// `where` begins the texts of errors: the step and this rank.
  explicit SetupCalls(std::string where);
  ~SetupCalls();
  SetupCalls(const SetupCalls&) = delete;
  SetupCalls& operator=(const SetupCalls&) = delete;

  /// Returns call(), which calls MPI. Throws the cause if the calls were given up before or meanwhile.
  template <typename Call>
  auto carry_out(const Call& call) {
    const spi::LibraryCalls::Scope scope(calls_, step_);
    require_going_on();
    return call();
  }
  /// Throws the cause if the calls were given up.
  void require_going_on() const {
    if (failure_.has_failed()) failure_.rethrow(where_);
  }
  void give_up(const Error& cause) noexcept override;
  /// Gives up the calls and takes the thread out of MPI, again and again until `is_over`: it may be about to enter MPI,
  /// or be where it cannot be interrupted, such as in the dynamic loader. Called by the watch.
  void end(const Error& cause, const std::atomic<bool>& is_over) noexcept;

 private:
  [[noreturn]] static void raise(const void* calls, const Operation& step);

  std::string where_;
  Operation step_;  ///< LibraryCalls passes it on; not used
  spi::FirstFailure failure_;
};

}  // namespace tutti::mpi

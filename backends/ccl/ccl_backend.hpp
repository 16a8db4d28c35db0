#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ccl_messages.hpp"
#include "ccl_pending.hpp"
#include "ccl_queues.hpp"
#include "ccl_runtime.hpp"
#include "ccl_worker.hpp"
#include "channel/ccl_channel.hpp"
#include "common/library_users.hpp"
#include "common/stream_executor.hpp"
#include "tutti/spi/backend.hpp"
#include "tutti/spi/first_failure.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::ccl {

/// A communicator over communicators of oneCCL: one for host memory, and one for device memory, created when it is
/// first used.
///
/// Blocking operations run on the caller's thread. Asynchronous ones, those with a timeout and those of a group run on
/// a worker; while the worker is busy all operations go there, to keep their order.
class Communicator final : public spi::BackendCommunicator, private common::LibraryUser {
 public:
  /// Collective over the members of the context's rendezvous.
  Communicator(Runtime& runtime, const spi::CreateContext& context);
  ~Communicator() override;

  /// Throws the error for which the communicator was given up, if it was.
  void check_alive(const Operation& operation) const {
    if (failure_.has_failed()) [[unlikely]]
      throw_failure(operation);
  }
  /// Gives the communicator up because the operation's timeout has passed, and throws Error{timeout}.
  [[noreturn]] void fail_late(const Operation& operation);
  /// Makes the communicator unusable, because pending calls that oneCCL cannot cancel may remain. Later calls fail with
  /// the first cause.
  void give_up(const Error& cause) noexcept override;

 private:
  [[nodiscard]] std::vector<std::string> do_settings() const override;
  void do_run(const Operation& operation) override;
  std::unique_ptr<spi::PendingOperation> do_start(const Operation& operation) override;
  std::unique_ptr<spi::PendingOperation> do_start_group(std::span<const Operation> operations) override;
  void do_abort() noexcept override;
  [[nodiscard]] bool do_needs_watch() const noexcept override { return size_ > 1; }
  bool do_interrupt(const Error& cause) noexcept override;
  void do_close() noexcept override;

  [[gnu::noinline]] void run_any(const Operation& operation);
  [[noreturn]] void throw_failure(const Operation& operation) const;
  [[noreturn]] static void raise(const void* communicator, const Operation& operation);
  /// Throws the error of a call that failed: the first failure if the call was interrupted, else oneCCL's own.
  [[gnu::cold]] void fail_shortcut(int code);
  /// Makes a call that the failure of the communicator may interrupt.
  template <typename Call>
  void interruptible(const Operation& operation, const Call& call);
  [[nodiscard]] Worker& worker_for(const Operation& operation);
  [[nodiscard]] Worker::Work work_of(const Operation& operation);

  /// The communicators of oneCCL, whose destructors may wait for other ranks.
  [[nodiscard]] std::vector<std::shared_ptr<void>> take_channels();

  Runtime& runtime_;
  Rendezvous rendezvous_;  ///< where the ranks meet before they destroy the communicator
  int rank_;
  int size_;
  // Shared with the worker, which may be left behind in a call that never returns.
  std::shared_ptr<Channel> channel_;
  Channel::Shortcut shortcut_;
  std::atomic<std::uint8_t> is_special_;  ///< 1: there is no shortcut, or a worker, or the communicator is given up
  spi::FirstFailure failure_;
  std::optional<Worker> worker_;
  Messages messages_;
  std::optional<Queues> queues_;  ///< if oneCCL takes SYCL queues
  std::optional<common::StreamExecutor> executor_;
};

}  // namespace tutti::ccl

#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/entry.hpp"
#include "named_front.hpp"
#include "process_sets.hpp"
#include "tutti/spi/nested.hpp"

namespace tutti::horovod {

/// The capabilities of an inner backend on host memory: the core stages device memory.
[[nodiscard]] spi::Capabilities host_capabilities(const spi::Capabilities& inner);

/// Collectives of tutti's interface by way of the engine, under the names of their labels or, without a label, of their
/// numbers. Messages go to the inner backend.
class HorovodCommunicator final : public spi::ForwardingCommunicator {
 public:
  HorovodCommunicator(const spi::CreateContext& context, std::unique_ptr<spi::BackendCommunicator> inner,
                      const spi::Capabilities& capabilities);
  ~HorovodCommunicator() override;

  using ForwardingCommunicator::inner;

 private:
  class Pending;

  void do_run(const Operation& operation) override;
  bool do_may_reach(const Operation&) const override { return false; }
  bool do_reaches(const Operation&) override { return false; }
  std::unique_ptr<spi::PendingOperation> do_start(const Operation& operation) override;
  std::unique_ptr<spi::PendingOperation> do_start_group(std::span<const Operation> operations) override;
  void do_abort() noexcept override;
  bool do_interrupt(const Error& cause) noexcept override;
  void do_close() noexcept override;
  [[nodiscard]] bool do_needs_watch() const noexcept override { return inner().needs_watch() || sets_.needs_watch(); }
  spi::NamedEngine* do_engine() noexcept override { return &front_; }

  [[nodiscard]] EntryPointer make_entry(const Operation& operation) const;
  void finish(Entry& entry, spi::Deadline deadline);
  [[nodiscard]] spi::Deadline deadline_of(const Operation& operation) const;
  [[noreturn]] void rethrow(const Entry& entry) const;

  int rank_;
  int size_;
  ProcessSets sets_;
  bool times_out_;
  SetEngine& engine_;  ///< of all ranks
  NamedFront front_;
};

}  // namespace tutti::horovod

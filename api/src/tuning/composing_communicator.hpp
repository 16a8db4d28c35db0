#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "tuning/tuning_plan.hpp"
#include "tutti/spi/nested.hpp"

namespace tutti {

/// A leaf of `auto` that carries out some operations by two others of the same backend, as the plan says. All ranks
/// have the same plan, and with it the same operations in the same order: a collective that is started after a composed
/// one begins only when the last part of that has begun. Messages wait for nothing.
class ComposingCommunicator final : public spi::ForwardingCommunicator {
 public:
  ComposingCommunicator(std::shared_ptr<const TuningPlan> plan, std::unique_ptr<spi::BackendCommunicator> inner,
                        int rank, int size)
      : ForwardingCommunicator(std::move(inner)), plan_(std::move(plan)), rank_(rank), size_(size) {}
  using ForwardingCommunicator::inner;

 private:
  class Sequence;

  void do_run(const Operation& operation) override;
  std::unique_ptr<spi::PendingOperation> do_start(const Operation& operation) override;
  std::unique_ptr<spi::PendingOperation> do_start_group(std::span<const Operation> operations) override;
  /// It appears as the backend itself.
  [[nodiscard]] const spi::BackendCommunicator* do_inner() const noexcept override { return nullptr; }
  [[nodiscard]] std::vector<std::string> do_settings() const override { return inner().settings(); }

  [[nodiscard]] std::vector<Operation> steps_of(const Operation& operation) const;
  /// Starts the parts one after the other where host memory decides when the next one can begin.
  [[nodiscard]] std::unique_ptr<spi::PendingOperation> in_turn(const Operation& operation, std::vector<Operation> steps,
                                                               bool as_group);
  /// Goes on with the sequences that have parts to begin, the first one first.
  void advance();
  /// Waits until all parts of all sequences have begun.
  void begin_all();

  std::shared_ptr<const TuningPlan> plan_;
  int rank_;
  int size_;
  std::deque<Sequence*> beginning_;  ///< with parts that have not begun, in the order of the calls
};

}  // namespace tutti

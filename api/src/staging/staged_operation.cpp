#include "staging/staged_operation.hpp"

#include <mutex>

#include "call/communicator_state.hpp"
#include "call/emulation/emulation.hpp"
#include "staging/staging_rules.hpp"

namespace tutti {

namespace {

/// Long enough that starting a copy and an operation costs little of its time, short enough that a message of a few
/// pieces overlaps.
constexpr std::uint64_t kPieceBytes = std::uint64_t{4} << 20;

}  // namespace

StagedOperation::StagedOperation(const detail::CommunicatorState& state, spi::BackendCommunicator& leaf,
                                 StagingAreas& areas, const Operation& op)
    : state_(state), leaf_(leaf), op_(op), area_(areas.of(stream_of(op))) {
  if (is_copied(op, leaf.capabilities())) {
    if (state.strict && !leaf.may_reach(op)) throw staging_refusal(state, leaf, op);
    slots_ = area_->slots(StagingPlan(op, state.size, kPieceBytes));
  }
  if (op.stream.is_host()) return;
  // The application's stream is known to exist only while the call lasts.
  ready_ = area_->runtime().record(op.stream);
  gate_ = area_->runtime().hold(op.stream);
}

void StagedOperation::wait_ready() {
  if (ready_ != nullptr) ready_->wait();
  ready_.reset();
}

void StagedOperation::run(FairLock& lock) {
  SharedBackend backend(leaf_, lock);
  const spi::Capabilities& has = backend.capabilities();
  Operation op = op_;
  if (!needs_staging(op_, has)) {
    // The backend takes it with a stream; it is here because it stands behind operations that the backend does not
    // take.
    op.stream = area_->stream();
    run_on_backend(backend, op);
  } else if (!is_copied(op_, has)) {
    op.where = {};
    op.stream = {};
    run_on_backend(backend, op);
  } else if (!run_by_reach(backend)) {
    if (state_.strict) {
      was_refused_ = true;
      throw staging_refusal(state_, leaf_, op_);
    }
    run_pieces(backend);
  }
}

bool StagedOperation::run_by_reach(SharedBackend& backend) {
  if (!backend.capabilities().takes(op_)) return false;
  Operation op = op_;
  op.stream = area_->stream();
  return backend.run_if_reached(op);
}

void StagedOperation::run_pieces(SharedBackend& backend) {
  const StagingPlan plan(op_, state_.size, kPieceBytes);
  const auto slot_of = [&](std::uint64_t index) -> StagingSlot& { return *slots_[index % slots_.size()]; };
  slot_of(0).fetch(op_, plan.piece(0));
  for (std::uint64_t index = 0; index < plan.pieces(); ++index) {
    StagingSlot& slot = slot_of(index);
    if (index + 1 < plan.pieces()) {
      StagingSlot& next = slot_of(index + 1);
      next.wait_delivered();
      next.fetch(op_, plan.piece(index + 1));
    }
    slot.wait_fetched();
    run_on_backend(backend, slot.operation());
    slot.deliver(op_);
  }
  for (const auto& slot : slots_) {
    if (slot != nullptr) slot->wait_delivered();
  }
}

void StagedOperation::run_on_backend(SharedBackend& backend, const Operation& op) {
  Emulator(backend, state_.rank, state_.size).run(op);
}

bool StagedOperation::exchanges_messages() const { return Emulator::exchanges_messages(op_, leaf_.capabilities()); }

void StagedOperation::settle() noexcept {
  for (const auto& slot : slots_) {
    if (slot != nullptr) slot->settle();
  }
}

}  // namespace tutti

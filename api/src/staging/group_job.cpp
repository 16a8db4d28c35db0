#include "staging/group_job.hpp"

#include <cstdint>
#include <utility>

#include "call/emulation/emulation.hpp"
#include "call/shared_backend.hpp"
#include "staging/staging_rules.hpp"

namespace tutti {

GroupJob::GroupJob(const detail::CommunicatorState& state, StagingAreas& areas, std::span<const Operation> ops)
    : state_(state), ops_(ops.begin(), ops.end()) {
  for (std::size_t index = 0; index < ops_.size(); ++index) {
    const Operation& op = ops_[index];
    const spi::Capabilities& has = state.backend->route(op).capabilities();
    if (op.stream.is_host() && op.where.kind == MemoryKind::host) continue;
    Entry entry;
    entry.index = index;
    entry.area = areas.of(stream_of(op));
    if (is_copied(op, has)) {
      const StagedPiece piece = StagingPlan(op, state.size, UINT64_MAX).piece(0);
      entry.slot = entry.area->make_slot({piece.input_bytes, piece.output_bytes});
    }
    entries_.push_back(std::move(entry));
  }
}

void GroupJob::enter_streams() {
  for (const Entry& entry : entries_) {
    const Stream& stream = ops_[entry.index].stream;
    if (stream.is_host() || std::ranges::find(places_, stream, &Place::stream) != places_.end()) continue;
    spi::DeviceRuntime& runtime = entry.area->runtime();
    Place& place = places_.emplace_back();
    place.stream = stream;
    place.ready = runtime.record(stream);
    place.gate = runtime.hold(stream);
  }
}

void GroupJob::wait_ready() {
  for (Place& place : places_) {
    place.ready->wait();
    place.ready.reset();
  }
}

void GroupJob::run(FairLock& lock) {
  std::vector<Operation> on_host = ops_;
  for (Entry& entry : entries_) {
    const Operation& whole = ops_[entry.index];
    Operation& op = on_host[entry.index];
    if (entry.slot != nullptr) {
      entry.slot->fetch(whole, StagingPlan(whole, state_.size, UINT64_MAX).piece(0));
      op = entry.slot->operation();
      op.where = {};
      op.stream = {};
    } else if (needs_staging(whole, state_.backend->route(whole).capabilities())) {
      op.where = {};
      op.stream = {};
    } else {
      op.stream = entry.area->stream();
    }
  }
  for (Entry& entry : entries_) {
    if (entry.slot != nullptr) entry.slot->wait_fetched();
  }
  SharedBackend backend(*state_.backend, lock);
  run_group_on_host(state_, backend, on_host,
                    [&](spi::BackendCommunicator& leaf) { return SharedBackend(leaf, lock); });
  for (Entry& entry : entries_) {
    if (entry.slot != nullptr) entry.slot->deliver(ops_[entry.index]);
  }
  for (Entry& entry : entries_) {
    if (entry.slot != nullptr) entry.slot->wait_delivered();
  }
}

void GroupJob::settle() noexcept {
  for (Entry& entry : entries_) {
    if (entry.slot != nullptr) entry.slot->settle();
  }
}

void GroupJob::open_gates() noexcept {
  for (Place& place : places_) place.gate.reset();
}

bool GroupJob::exchanges_messages() const {
  return std::ranges::any_of(ops_, [&](const Operation& op) {
    return Emulator::exchanges_messages(op, state_.backend->route(op).capabilities());
  });
}

}  // namespace tutti

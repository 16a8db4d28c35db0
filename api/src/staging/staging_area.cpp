#include "staging/staging_area.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "tutti/error.hpp"
#include "tutti/observer.hpp"

namespace tutti {

namespace {
constexpr std::string_view kOwner = "staging";
/// Of a slot. Vector forms are staged whole: what one of them needed the application may need for itself later.
constexpr std::size_t kLongestKept = std::size_t{32} << 20;
}  // namespace

PinnedMemory::PinnedMemory(spi::DeviceRuntime& runtime, const Stream& stream, std::size_t bytes)
    : runtime_(runtime), stream_(stream), bytes_(bytes) {
  if (bytes != 0) data_ = runtime.allocate(stream, MemoryKind::host, bytes, kOwner);
}

PinnedMemory::~PinnedMemory() {
  if (data_ != nullptr) runtime_.release(stream_, data_, MemoryKind::host, bytes_, kOwner);
}

void StagingSlot::settle() noexcept {
  for (Events* events : {&fetching_, &delivering_}) {
    try {
      wait(*events);
    } catch (const Error&) {  // NOLINT: the device gave up on them, which is as good
    }
  }
}

void StagingSlot::fetch(const Operation& whole, StagedPiece piece) {
  piece_ = std::move(piece);
  Operation& op = piece_.operation;
  if (whole.input != nullptr) op.input = input_.data();
  if (whole.output != nullptr) op.output = output_.data();
  const Memory pinned{in_.device(), MemoryKind::host};
  for (const StagedPiece::Copy& copy : piece_.fetches) {
    if (copy.bytes == 0) continue;
    const auto* from = static_cast<const std::byte*>(whole.input) + copy.device;
    fetching_.push_back(runtime_.copy(in_, Buffer(input_.data() + copy.host, copy.bytes, DataType::uint8, pinned),
                                      ConstBuffer(from, copy.bytes, DataType::uint8, whole.where)));
  }
}

void StagingSlot::deliver(const Operation& whole) {
  const Memory pinned{out_.device(), MemoryKind::host};
  for (const StagedPiece::Copy& copy : piece_.deliveries) {
    if (copy.bytes == 0) continue;
    auto* to = static_cast<std::byte*>(whole.output) + copy.device;
    delivering_.push_back(runtime_.copy(out_, Buffer(to, copy.bytes, DataType::uint8, whole.where),
                                        ConstBuffer(output_.data() + copy.host, copy.bytes, DataType::uint8, pinned)));
  }
}

void StagingSlot::wait(Events& events) {
  if (events.empty()) return;
  // The stream is in order, so the last is enough; the others are asked for the sake of an observer.
  events.back()->wait();
  if (observer() != nullptr) {
    for (auto& event : events) (void)event->ready();
  }
  events.clear();
}

StagingArea::StagingArea(const Stream& beside)
    : runtime_(spi::device_runtime(beside.device())),
      key_(runtime_.context_key(beside)),
      in_(runtime_.make_stream(beside)),
      out_(runtime_.make_stream(beside)) {}

StagingSlots StagingArea::slots(const StagingPlan& plan) {
  const StagedPiece piece = plan.piece(0);  // none is longer
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(plan.pieces(), slots_.size()));
  StagingSlots result;
  for (std::size_t index = 0; index < wanted; ++index) {
    std::shared_ptr<StagingSlot>& slot = slots_[index];
    const SlotBytes kept = slot != nullptr ? slot->bytes() : SlotBytes{};
    if (piece.input_bytes + piece.output_bytes > kLongestKept) {
      result[index] = make_slot({piece.input_bytes, piece.output_bytes});
      continue;
    }
    // Powers of two: lengths that change from call to call soon find what they need.
    const auto grow = [](std::size_t has, std::size_t needs) { return needs <= has ? has : std::bit_ceil(needs); };
    if (slot == nullptr || piece.input_bytes > kept.input || piece.output_bytes > kept.output) {
      slot = make_slot({grow(kept.input, piece.input_bytes), grow(kept.output, piece.output_bytes)});
    }
    result[index] = slot;
  }
  return result;
}

}  // namespace tutti

#include "algorithms/message.hpp"

#include <algorithm>
#include <string>

#include "call.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::native {
namespace {

[[noreturn]] void throw_mismatch(const Channels& channels, const Operation& operation, const Slot& slot) {
  const auto type = static_cast<DataType>(slot.tag);
  const std::string sender = std::to_string(operation.root);
  const std::string receiver = std::to_string(channels.rank());
  throw Error(ErrorCode::invalid_usage,
              short_name(Call::of(operation)) + ": rank " + sender + " sends " +
                  std::to_string(slot.total / size_of(type)) + " " + std::string(name(type)) + " to rank " + receiver +
                  ", which receives " + std::to_string(operation.count) + " " + std::string(name(operation.type)),
              "native");
}

const RingShape& ring_shape(const Channels& channels, int peer) noexcept {
  return peer == channels.rank() ? channels.geometry().self : channels.geometry().message;
}

}  // namespace

std::uint64_t Message::chunk(const RingShape& ring, std::uint64_t bytes) noexcept {
  return ring.chunk(chunk_of_message(bytes));
}

StepResult Message::step(Channels& channels, const Operation& operation) {
  return operation.kind == OpKind::send ? send(channels, operation) : receive(channels, operation);
}

StepResult Message::send(Channels& channels, const Operation& operation) {
  RingWriter& ring = channels.message_to(operation.root);
  const std::uint64_t total = operation.block_bytes();
  const auto* from = static_cast<const std::byte*>(operation.input);
  StepResult result = StepResult::blocked;
  const std::uint64_t longest = chunk(ring_shape(channels, operation.root), total);
  while (true) {
    const std::uint64_t bytes = std::min(total - bytes_, longest);
    if (!ring.writable(bytes)) return result;
    Slot& slot = ring.slot();
    slot.tag = static_cast<std::uint64_t>(operation.type);
    slot.total = total;
    ring.fill(from + bytes_, bytes);
    ring.publish(bytes);
    channels.bells().notify(operation.root);
    bytes_ += bytes;
    if (bytes_ == total) return StepResult::done;
    result = StepResult::moved;
  }
}

StepResult Message::receive(Channels& channels, const Operation& operation) {
  RingReader& ring = channels.message_from(operation.root);
  const std::uint64_t total = operation.block_bytes();
  auto* to = static_cast<std::byte*>(operation.output);
  const bool streaming = channels.exceeds_cache(total);
  const std::uint64_t longest = chunk(ring_shape(channels, operation.root), total);
  StepResult result = StepResult::blocked;
  while (Slot* slot = ring.front()) {
    if (slot->total != total || slot->tag != static_cast<std::uint64_t>(operation.type)) {
      throw_mismatch(channels, operation, *slot);
    }
    const std::uint64_t bytes = std::min(total - bytes_, longest);
    ring.copy_to(to + bytes_, bytes, streaming);
    ring.pop(bytes);
    channels.bells().notify(operation.root);
    bytes_ += bytes;
    if (bytes_ == total) return StepResult::done;
    result = StepResult::moved;
  }
  return result;
}

}  // namespace tutti::native

#include "buffers/device_place.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "tutti/spi/kernels.hpp"

namespace tutti::horovod {

DevicePlace::DevicePlace(const Stream& beside)
    : runtime_(spi::device_runtime(beside.device())),
      key_(runtime_.context_key(beside)),
      stream_(runtime_.make_stream(beside)) {}

bool DevicePlace::has(const Stream& stream) const {
  return stream.device() == stream_->stream().device() && runtime_.context_key(stream) == key_;
}

std::byte* DevicePlace::grown(DeviceBlock& memory, std::size_t bytes) {
  if (bytes > memory.size()) {
    settle();
    memory = {};
    memory = DeviceBlock(stream(), MemoryKind::device, bytes);
  }
  return memory.data();
}

void DevicePlace::enqueue(void* to, const Memory& to_where, const void* from, const Memory& from_where,
                          std::size_t bytes) {
  if (bytes == 0 || to == from) return;
  (void)runtime_.copy(stream(), Buffer(to, bytes, DataType::uint8, to_where),
                      ConstBuffer(from, bytes, DataType::uint8, from_where));
  is_settled_ = false;
}

void DevicePlace::copy(void* to, const void* from, std::size_t bytes) { enqueue(to, where(), from, where(), bytes); }
void DevicePlace::fetch(void* to, const void* from, std::size_t bytes) { enqueue(to, {}, from, where(), bytes); }
void DevicePlace::store(void* to, const void* from, std::size_t bytes) { enqueue(to, where(), from, {}, bytes); }

void DevicePlace::zero(void* to, std::size_t bytes) {
  if (bytes == 0) return;
  (void)runtime_.fill(stream(), Buffer(to, bytes, DataType::uint8, where()), std::byte{0});
  is_settled_ = false;
}

void DevicePlace::scale(void* data, std::uint64_t count, DataType type, double factor, std::uint64_t divisor) {
  if (count == 0 || (factor == 1.0 && divisor == 1)) return;
  if (runtime_.can_reduce(stream(), Reduction::sum, type)) {
    const std::array<void*, 1> outputs = {data};
    const std::array<const void*, 1> inputs = {data};
    const auto apply = [&](double by, std::uint64_t through) {
      (void)runtime_.reduce(
          stream(),
          {.type = type, .count = count, .outputs = outputs, .inputs = inputs, .prescale = by, .divisor = through});
    };
    // The division goes first, as on the host; a reduction multiplies first.
    if (divisor != 1) apply(1.0, divisor);
    if (factor != 1.0) apply(factor, 1);
    is_settled_ = false;
    return;
  }
  const std::size_t bytes = count * size_of(type);
  DeviceBlock image = take_pinned(bytes);
  fetch(image.data(), data, bytes);
  settle();
  spi::scale(image.data(), count, type, factor, divisor);
  store(data, image.data(), bytes);
  settle();
  give_pinned(std::move(image));
}

void DevicePlace::settle() {
  if (is_settled_) return;
  runtime_.record(stream())->wait();
  is_settled_ = true;
}

DeviceBlock DevicePlace::take_pinned(std::size_t bytes) {
  const auto found = std::ranges::find_if(spare_, [&](const DeviceBlock& block) { return block.size() >= bytes; });
  if (found == spare_.end()) {
    if (!spare_.empty()) spare_.pop_back();  // too small: a larger one takes its place
    return {stream(), MemoryKind::host, bytes};
  }
  DeviceBlock block = std::move(*found);
  spare_.erase(found);
  return block;
}

}  // namespace tutti::horovod

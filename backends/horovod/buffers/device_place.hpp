#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "buffers/device_block.hpp"
#include "buffers/place.hpp"
#include "tutti/spi/device.hpp"

namespace tutti::horovod {

/// Memory of a device and a stream of the engine on it, beside a stream of the application. Copies are enqueued one
/// after the other and waited for together.
class DevicePlace final : public Place {
 public:
  explicit DevicePlace(const Stream& beside);

  /// Whether memory of a stream's context is memory of this place.
  [[nodiscard]] bool has(const Stream& stream) const;

  std::byte* fused(std::size_t bytes) override { return grown(fused_, bytes); }
  std::byte* gathered(std::size_t bytes) override { return grown(gathered_, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override;
  void zero(void* to, std::size_t bytes) override;
  void scale(void* data, std::uint64_t count, DataType type, double factor, std::uint64_t divisor) override;
  void settle() override;
  Memory where() const override { return {stream().device(), MemoryKind::device}; }
  Stream stream() const override { return stream_->stream(); }

  /// Lets later copies and operations wait for work of the application.
  void wait_for(spi::DeviceEvent& work) { runtime_.wait(stream(), work); }
  /// Copies between the device's memory and the host's.
  void fetch(void* to, const void* from, std::size_t bytes);
  void store(void* to, const void* from, std::size_t bytes);

  /// Pinned memory of the host of at least `bytes`; given back for later ones.
  [[nodiscard]] DeviceBlock take_pinned(std::size_t bytes);
  void give_pinned(DeviceBlock block) { spare_.push_back(std::move(block)); }

 private:
  std::byte* grown(DeviceBlock& memory, std::size_t bytes);
  void enqueue(void* to, const Memory& to_where, const void* from, const Memory& from_where, std::size_t bytes);

  spi::DeviceRuntime& runtime_;
  std::uint64_t key_;
  std::unique_ptr<spi::DeviceStream> stream_;
  DeviceBlock fused_;
  DeviceBlock gathered_;
  std::vector<DeviceBlock> spare_;
  bool is_settled_ = true;
};

}  // namespace tutti::horovod

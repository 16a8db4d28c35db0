#pragma once

#include <cstddef>
#include <cstdint>

#include "tutti/allocate.hpp"
#include "tutti/device.hpp"
#include "tutti/stream.hpp"
#include "tutti/types/data_type.hpp"

namespace tutti::horovod {

/// Memory in which the engine prepares operations of the inner backend: of the host, or of a device. Copies are in
/// order with these operations. Not synchronised.
class Place {
 public:
  virtual ~Place() = default;
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  /// Memory for fused tensors, and for what is gathered or scattered. Both keep their largest size; a larger one
  /// replaces the content.
  [[nodiscard]] virtual std::byte* fused(std::size_t bytes) = 0;
  [[nodiscard]] virtual std::byte* gathered(std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void zero(void* to, std::size_t bytes) = 0;
  /// See spi::scale().
  virtual void scale(void* data, std::uint64_t count, DataType type, double factor, std::uint64_t divisor) = 0;
  /// Waits until all copies are complete.
  virtual void settle() = 0;
  /// For operations of the inner backend.
  [[nodiscard]] virtual Memory where() const { return {}; }
  [[nodiscard]] virtual Stream stream() const { return {}; }

 protected:
  Place() = default;
};

/// The host's. Ranks of one host may reach each other's buffers.
class HostPlace final : public Place {
 public:
  std::byte* fused(std::size_t bytes) override { return grown(fused_, bytes); }
  std::byte* gathered(std::size_t bytes) override { return grown(gathered_, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override;
  void zero(void* to, std::size_t bytes) override;
  void scale(void* data, std::uint64_t count, DataType type, double factor, std::uint64_t divisor) override;
  void settle() override {}

 private:
  static std::byte* grown(SharedArray<std::byte>& memory, std::size_t bytes);

  SharedArray<std::byte> fused_;
  SharedArray<std::byte> gathered_;
};

}  // namespace tutti::horovod

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/scratch_pool.hpp"
#include "tutti/operation.hpp"

namespace tutti::common {

/// An operation whose buffers the library cannot use (they are on the host, or not aligned), carried out on memory of
/// the device that stands for them. Blocks are packed there, so that gaps between them stay as they are.
class DeviceImage {
 public:
  /// `stream` is of the device whose memory `pool` has; the copies and the operation go there.
  DeviceImage(ScratchPool& pool, spi::DeviceRuntime& runtime, const Stream& stream, const Operation& original,
              int ranks);

  /// The operation on the stand-ins, ordered by the stream.
  [[nodiscard]] const Operation& operation() const noexcept { return operation_; }
  /// Enqueues the copies of the input, before the operation.
  void upload();
  /// Enqueues the copies of the output, after it.
  void download();
  /// When the stream has come so far: what the host has to copy.
  void finish();

 private:
  struct Part {
    std::uint64_t at;      ///< bytes from the beginning of the buffer
    std::uint64_t packed;  ///< the same in the stand-in
    std::uint64_t bytes;
  };
  using Parts = std::vector<Part>;

  [[nodiscard]] Parts parts(Extent extent, const BlockLayout& layout, int ranks) const;
  void copy(std::byte* to, MemoryKind to_kind, const std::byte* from, MemoryKind from_kind, std::uint64_t bytes);

  spi::DeviceRuntime& runtime_;
  Stream stream_;
  Operation original_;
  bool is_on_host_;
  Parts input_;
  Parts output_;
  std::uint64_t input_bytes_ = 0;
  std::uint64_t output_bytes_ = 0;
  std::shared_ptr<ScratchBlock> on_device_;  ///< the input, then the output
  std::shared_ptr<ScratchBlock> pinned_;     ///< the same on the host, for copies that do not wait
  Operation operation_;
  std::vector<std::unique_ptr<spi::DeviceEvent>> copies_;
};

}  // namespace tutti::common

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/scratch_pool.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::common {

/// An operation whose buffers the library cannot use (host memory, or not aligned), carried out on copies of the
/// buffers in device memory. Blocks are packed there, so that the gaps between blocks of the original do not change.
class DeviceImage {
 public:
  /// `stream` is of the device of `pool`; the copies and the operation are enqueued on it.
  DeviceImage(ScratchPool& pool, spi::DeviceRuntime& runtime, const Stream& stream, const Operation& original,
              int ranks);

  /// The operation on the copies of the buffers, ordered by the stream.
  [[nodiscard]] const Operation& operation() const noexcept { return operation_; }
  /// Enqueues the transfer of the input; to be called before the operation is enqueued.
  void upload();
  /// Enqueues the transfer of the output; to be called after the operation is enqueued.
  void download();
  /// Does the host's part of the transfer; to be called when the stream has ended the transfers. Throws their errors.
  void finish();

 private:
  struct Part {
    std::uint64_t at;      ///< bytes from the beginning of the buffer
    std::uint64_t packed;  ///< bytes from the beginning of the copy
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
  std::shared_ptr<ScratchBlock> pinned_;     ///< the same in pinned host memory, for asynchronous transfers
  Operation operation_;
  std::vector<std::unique_ptr<spi::DeviceEvent>> copies_;
};

}  // namespace tutti::common

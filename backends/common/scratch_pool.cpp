#include "common/scratch_pool.hpp"

#include <algorithm>
#include <bit>

namespace tutti::common {
namespace {

constexpr std::size_t kSmallest = std::size_t{64} << 10;
/// Longer blocks are freed and not kept: the application may need the memory later.
constexpr std::size_t kLongestKept = std::size_t{32} << 20;
constexpr std::size_t kMostKept = 16;

}  // namespace

ScratchBlock::ScratchBlock(spi::DeviceRuntime& runtime, const Stream& stream, MemoryKind kind, std::size_t bytes,
                           std::string_view owner)
    : runtime_(runtime),
      stream_(stream),
      kind_(kind),
      bytes_(bytes),
      owner_(owner),
      data_(runtime.allocate(stream, kind, bytes, owner)) {}

ScratchBlock::~ScratchBlock() { runtime_.release(stream_, data_, kind_, bytes_, owner_); }

ScratchPool::ScratchPool(spi::DeviceRuntime& runtime, const Stream& stream, std::string_view owner)
    : runtime_(runtime), stream_(stream), owner_(owner), shelf_(std::make_shared<Shelf>()) {}

std::shared_ptr<ScratchBlock> ScratchPool::take(MemoryKind kind, std::size_t bytes) {
  std::unique_ptr<ScratchBlock> block;
  {
    const std::scoped_lock lock(shelf_->mutex);
    const auto fits = [&](const auto& one) { return one->kind() == kind && one->bytes() >= bytes; };
    const auto found = std::ranges::find_if(shelf_->free, fits);
    if (found != shelf_->free.end()) {
      block = std::move(*found);
      shelf_->free.erase(found);
    }
  }
  if (block == nullptr) {
    const std::size_t size = bytes > kLongestKept ? bytes : std::bit_ceil(std::max(bytes, kSmallest));
    block = std::make_unique<ScratchBlock>(runtime_, stream_, kind, size, owner_);
  }
  const auto give_back = [shelf = std::weak_ptr(shelf_)](ScratchBlock* used) {
    std::unique_ptr<ScratchBlock> owned(used);
    const auto alive = shelf.lock();
    if (alive == nullptr || used->bytes() > kLongestKept) return;
    const std::scoped_lock lock(alive->mutex);
    if (alive->free.size() < kMostKept) alive->free.push_back(std::move(owned));
  };
  return {block.release(), give_back};
}

}  // namespace tutti::common

#include "replay/replay_buffers.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tutti::tools {

namespace {

// Quarters of powers of two: half of the memory would be lost with powers of two.
std::size_t rounded(std::size_t bytes) {
  const std::size_t step = std::max<std::size_t>(std::bit_floor(bytes) / 4, 4096);
  return (bytes + step - 1) / step * step;
}

}  // namespace

std::byte* ReplayBuffers::take(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  std::vector<std::byte*>& free = free_[rounded(bytes)];
  if (free.empty()) {
    pages_.push_back(std::make_unique<Pages>(rounded(bytes)));
    // A number that is neither zero nor small in any type.
    std::memset(pages_.back()->data(), 0x3c, rounded(bytes));
    return pages_.back()->data();
  }
  std::byte* const data = free.back();
  free.pop_back();
  return data;
}

void ReplayBuffers::put(std::byte* data, std::size_t bytes) {
  if (data != nullptr) free_[rounded(bytes)].push_back(data);
}

}  // namespace tutti::tools

#include "support/data/guarded_memory.hpp"

#include <algorithm>

namespace tutti::test {
namespace {
constexpr std::size_t kLine = 64;
constexpr std::size_t kZone = 2 * kLine;
constexpr std::byte kFill{0xA5};

bool all_fill(const std::byte* data, std::size_t bytes) noexcept {
  return std::all_of(data, data + bytes, [](std::byte value) { return value == kFill; });
}
}  // namespace

GuardedMemory::GuardedMemory(std::uint64_t count, DataType type, std::size_t offset)
    : count_(count), type_(type), begin_(0), bytes_(2 * kZone + kLine + offset + count * size_of(type), kFill) {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
  begin_ = kZone + (kLine - address % kLine) % kLine + offset;
}

void GuardedMemory::clear() noexcept { std::fill_n(data(), count_ * size_of(type_), kFill); }

bool GuardedMemory::guards_intact() const noexcept {
  const std::size_t end = begin_ + count_ * size_of(type_);
  return all_fill(bytes_.data(), begin_) && all_fill(bytes_.data() + end, bytes_.size() - end);
}

bool GuardedMemory::untouched(std::uint64_t first, std::uint64_t count) const noexcept {
  return all_fill(bytes_.data() + begin_ + first * size_of(type_), count * size_of(type_));
}

}  // namespace tutti::test

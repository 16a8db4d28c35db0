#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/types/buffer.hpp"

namespace tutti::test {

/// Memory of a buffer between two guard zones, which show a write outside the buffer.
class GuardedMemory {
 public:
  /// The elements start `offset` bytes past a cache line, to test alignments.
  GuardedMemory(std::uint64_t count, DataType type, std::size_t offset = 0);

  [[nodiscard]] std::byte* data() noexcept { return bytes_.data() + begin_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// `count` elements from element `first` on.
  [[nodiscard]] Buffer part(std::uint64_t first, std::uint64_t count) noexcept {
    return {data() + first * size_of(type_), count, type_};
  }
  [[nodiscard]] Buffer all() noexcept { return part(0, count_); }

  /// The elements together with both guard zones, to copy everything at once.
  [[nodiscard]] std::span<std::byte> image() noexcept { return bytes_; }

  /// Fills the elements with the byte that fills the guard zones.
  void clear() noexcept;
  /// Whether both guard zones are unchanged.
  [[nodiscard]] bool guards_intact() const noexcept;
  /// Whether elements first .. first+count-1 are as clear() left them.
  [[nodiscard]] bool untouched(std::uint64_t first, std::uint64_t count) const noexcept;

 private:
  std::uint64_t count_;
  DataType type_;
  std::size_t begin_;
  std::vector<std::byte> bytes_;
};

}  // namespace tutti::test

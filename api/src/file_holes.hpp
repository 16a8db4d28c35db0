#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace tutti {

/// Ranges of a file that are free: neighbours become one.
class FileHoles {
 public:
  /// The offset of the first hole of at least `length` bytes, whose begin is in use from now on.
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint64_t length) {
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      const auto [offset, bytes] = *hole;
      if (bytes < length) continue;
      if (bytes > length) holes_[offset + length] = bytes - length;
      holes_.erase(offset);
      return offset;
    }
    return std::nullopt;
  }

  void add(std::uint64_t offset, std::uint64_t length) {
    auto next = holes_.lower_bound(offset);
    if (next != holes_.end() && offset + length == next->first) {
      length += next->second;
      next = holes_.erase(next);
    }
    if (next != holes_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += length;
        return;
      }
    }
    holes_[offset] = length;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> holes_;  // length by offset
};

}  // namespace tutti

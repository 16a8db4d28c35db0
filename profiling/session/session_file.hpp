#pragma once

#include <limits.h>

#include <atomic>
#include <cstdint>

#include "session/file_layout.hpp"

namespace tutti::profiling {

/// The mapped file of this process. Blocks are added under the session's lock; their content belongs to their owners.
///
/// The whole limit is mapped at once, and the file grows beneath the mapping in steps. A step is given room on the disk
/// first, so that no store to the mapping can fail. No descriptor stays open: programs close those that they do not
/// know and use their numbers again.
class SessionFile {
 public:
  /// Creates and maps a new file in `folder`, which must belong to this user alone. Returns nullptr, or the reason why
  /// it could not be done.
  [[nodiscard]] const char* create(const char* folder, std::uint64_t memory_limit) noexcept;
  /// A file of nothing but memory, to try things; false if there is no room.
  [[nodiscard]] bool create_scratch(std::uint32_t blocks) noexcept;
  void remove_scratch() noexcept;
  /// After a fork the mapping is the parent's. It stays mapped, because other code may still look at it.
  void forget() noexcept { *this = {}; }

  [[nodiscard]] bool open() const noexcept { return base_ != nullptr; }
  [[nodiscard]] layout::Header* header() const noexcept { return reinterpret_cast<layout::Header*>(base_); }
  /// A new block, whose content is zero, or nullptr if there is no room. Blocks of events leave an eighth of the memory
  /// to the tables.
  [[nodiscard]] layout::BlockHeader* add_block(layout::BlockType type, std::uint32_t thread,
                                               std::uint32_t table) noexcept;
  [[nodiscard]] std::uint32_t number_of(const layout::BlockHeader* block) const noexcept {
    return static_cast<std::uint32_t>((reinterpret_cast<const char*>(block) - base_) / layout::kBlockBytes);
  }
  [[nodiscard]] layout::BlockHeader* block(std::uint32_t number) const noexcept {
    return reinterpret_cast<layout::BlockHeader*>(base_ + number * layout::kBlockBytes);
  }
  /// Row at a place that this process has written itself.
  [[nodiscard]] layout::Row* row(layout::RowPlace place) const noexcept {
    return reinterpret_cast<layout::Row*>(block(place >> 4) + 1) + (place & 15U);
  }
  [[nodiscard]] std::uint32_t blocks() const noexcept { return used_; }
  [[nodiscard]] std::uint32_t most_blocks() const noexcept { return most_; }
  /// Why the file does not grow, or nullptr.
  [[nodiscard]] const char* problem() const noexcept { return problem_; }
  void flush() const noexcept;

 private:
  [[nodiscard]] const char* open_new(int folder, int& file) noexcept;
  [[nodiscard]] const char* grow(int file, std::uint32_t blocks) noexcept;
  [[nodiscard]] bool grow() noexcept;

  char* base_ = nullptr;
  std::uint32_t used_ = 0;   // blocks
  std::uint32_t there_ = 0;  // blocks with room on the disk
  std::uint32_t most_ = 0;
  std::uint32_t start_ = 0;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  const char* problem_ = nullptr;
  char path_[PATH_MAX] = "";
};

}  // namespace tutti::profiling

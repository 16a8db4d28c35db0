#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "session/file_layout.hpp"
#include "session/process_lock.hpp"

namespace tutti::profiling {

/// A thing that records refer to by number; see layout::Entry for the meaning of the fields.
struct Description {
  layout::DescriptionType type = layout::DescriptionType::none;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::int32_t c = 0;
  std::int32_t d = 0;
  std::array<std::string_view, layout::kTexts> texts = {};
};

/// All descriptions of this process, in private memory, whether there is a session or not: numbers that a library was
/// given stay valid in a session that begins later and in a forked child, whose file gets all of them again.
class Descriptions {
 public:
  /// Number of an equal description, or 0. Without a lock.
  [[nodiscard]] std::uint32_t find(const Description& wanted) const noexcept;
  /// The same for a caller that asks for the same one often: `hint` is 0 at first, and what this function makes of it.
  [[nodiscard]] std::uint32_t find(const Description& wanted, std::uint32_t& hint) const noexcept;
  /// Adds a description under the caller's lock; returns its number, or 0 if there is no room.
  [[nodiscard]] std::uint32_t add(const Description& added) noexcept;
  /// Number of descriptions of a type.
  [[nodiscard]] std::uint32_t count(layout::DescriptionType type) const noexcept {
    return counts_[static_cast<std::size_t>(type)].load(std::memory_order_relaxed);
  }

  /// All entries, one after the other.
  [[nodiscard]] const char* entries() const noexcept { return entries_; }
  [[nodiscard]] std::uint32_t entry_bytes() const noexcept { return used_; }

 private:
  // Open addressing; a slot is the offset of an entry divided by 8 plus 1, or 0. A table that became too small stays
  // as it is for threads that still look at it.
  struct Index {
    std::uint32_t mask;
    std::atomic<std::uint32_t> slots[1];
  };
  // The slot of an equal description, or 0.
  [[nodiscard]] std::uint32_t find_slot(const Description& wanted) const noexcept;
  [[nodiscard]] const layout::Entry& entry_at(std::uint32_t slot) const noexcept {
    return *reinterpret_cast<const layout::Entry*>(entries_ + (slot - 1) * std::size_t{8});
  }
  [[nodiscard]] static Index* new_index(std::uint32_t slots) noexcept;
  static void insert(Index& index, std::uint64_t hash, std::uint32_t slot) noexcept;
  [[nodiscard]] bool make_room(std::size_t bytes) noexcept;
  [[nodiscard]] bool grow_index() noexcept;

  char* entries_ = nullptr;
  std::uint32_t used_ = 0;  // bytes
  std::uint32_t entry_count_ = 0;
  std::atomic<Index*> index_{nullptr};
  std::array<std::atomic<std::uint32_t>, layout::kDescriptionTypes> counts_ = {};
};

}  // namespace tutti::profiling

#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "session/recorder.hpp"
#include "session/session_file.hpp"

namespace tutti::profiling {

/// Adds to a number that this thread alone writes, and others read at any time.
template <typename Number>
void bump(Number& number, Number by = 1) noexcept {
  const std::atomic_ref<Number> shared(number);
  shared.store(shared.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

/// The rows and events of a thread: the index of its rows in private memory, the rows themselves in the file's blocks.
/// One thread at a time uses it. Lives in zeroed memory without a constructor.
class ThreadTable {
 public:
  /// Takes a first block from the file, under the session's lock; false if there is no room.
  [[nodiscard]] bool begin(SessionFile& file, std::uint32_t number, std::uint32_t thread,
                           std::uint32_t generation) noexcept;
  [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }

  /// The row of this key, or nullptr. Programs repeat the same few calls: the rows used last are found at once.
  [[nodiscard]] layout::Row* find(const SessionFile& file, const layout::RowKey& key) noexcept {
    const Recent& recent = recent_[recent_place(key)];
    if (recent.row == nullptr || !is_same(recent.key, key)) return find_in_index(file, key);
    found_ = recent.place;
    return recent.row;
  }
  /// Adds a row for this key, under the session's lock; nullptr if there is no room.
  [[nodiscard]] layout::Row* add(SessionFile& file, const layout::RowKey& key, std::uint32_t balance) noexcept;
  /// Adds the event to the row that find() or add() returned last.
  void count(layout::Row& row, const Record& event) noexcept;

  /// Adds the event to the timeline; false if its block is full.
  [[nodiscard]] bool append(const Record& event) noexcept;
  /// Adds a block for append(), under the session's lock.
  [[nodiscard]] bool add_events(SessionFile& file) noexcept;

  void count_dropped() noexcept { bump(first_->dropped); }
  void count_dropped_event() noexcept { bump(first_->dropped_events); }

  ThreadTable* next_free;  ///< for the session's list of tables whose threads have ended

 private:
  static constexpr std::uint32_t kFirstSlots = 128;
  static constexpr std::size_t kRecent = 16;
  struct Recent {
    layout::RowKey key;
    layout::RowPlace place;
    layout::Row* row;
  };
  [[nodiscard]] static std::size_t recent_place(const layout::RowKey& key) noexcept {
    return (key.name + std::size_t{3} * key.context + std::size_t{5} * key.kind + key.device) % kRecent;
  }
  [[nodiscard]] static bool is_same(const layout::RowKey& a, const layout::RowKey& b) noexcept {
    static_assert(std::has_unique_object_representations_v<layout::RowKey>);
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
  [[nodiscard]] layout::Row* find_in_index(const SessionFile& file, const layout::RowKey& key) noexcept;
  layout::Row* remember(const layout::RowKey& key, layout::RowPlace place, layout::Row* row) noexcept;
  [[nodiscard]] bool grow_index(const SessionFile& file) noexcept;
  void insert(std::uint64_t hash, layout::RowPlace place) noexcept;

  std::uint32_t generation_;
  std::uint32_t number_;
  std::uint32_t thread_;
  layout::BlockHeader* first_;
  layout::BlockHeader* rows_;
  layout::BlockHeader* events_;
  std::uint32_t* slots_;  // places of rows, 0: free; open addressing
  std::uint32_t mask_;
  std::uint32_t row_count_;
  layout::RowPlace found_;
  std::uint32_t first_slots_[kFirstSlots];
  Recent recent_[kRecent];
};

}  // namespace tutti::profiling

#include "session/thread_table.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace tutti::profiling {
namespace {

using layout::BlockHeader;
using layout::BlockType;
using layout::Event;
using layout::Row;
using layout::RowKey;
using layout::RowPlace;

std::uint64_t hash_of(const RowKey& key) noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  const std::uint64_t what = std::uint64_t{key.name} << 32 | std::uint64_t{key.source} << 8 | key.kind;
  const std::uint64_t where = std::uint64_t{key.context} << 32 | (key.device << 16 ^ key.region);
  const std::uint64_t hash = (what ^ std::rotl(where * kOdd, 29)) * kOdd;
  return hash ^ hash >> 32;
}

bool has_duration(Kind kind) noexcept {
  return kind == Kind::host || kind == Kind::device || kind == Kind::operation || kind == Kind::stage;
}

std::uint64_t value_of(const Record& event) noexcept {
  if (!has_duration(event.kind)) return event.bytes;
  return event.end_ns > event.begin_ns ? event.end_ns - event.begin_ns : 0;
}

// A bucket that is full stays full: it must not become an empty one.
void bump_bucket(std::uint32_t& bucket) noexcept {
  const std::atomic_ref<std::uint32_t> shared(bucket);
  const std::uint32_t count = shared.load(std::memory_order_relaxed);
  shared.store(count + (count != UINT32_MAX ? 1U : 0U), std::memory_order_relaxed);
}

template <typename Number>
void store(Number& to, Number value) noexcept {
  std::atomic_ref<Number>(to).store(value, std::memory_order_relaxed);
}

}  // namespace

bool ThreadTable::begin(SessionFile& file, std::uint32_t number, std::uint32_t thread,
                        std::uint32_t generation) noexcept {
  number_ = number;
  thread_ = thread;
  generation_ = generation;
  slots_ = first_slots_;
  mask_ = kFirstSlots - 1;
  first_ = rows_ = file.add_block(BlockType::rows, thread, number);
  return first_ != nullptr;
}

Row* ThreadTable::remember(const RowKey& key, RowPlace place, Row* row) noexcept {
  recent_[recent_place(key)] = {key, place, row};
  found_ = place;
  return row;
}

Row* ThreadTable::find_in_index(const SessionFile& file, const RowKey& key) noexcept {
  for (std::uint64_t at = hash_of(key);; ++at) {
    const RowPlace place = slots_[at & mask_];
    if (place == 0) return nullptr;
    Row* row = file.row(place);
    if (is_same(row->key, key)) return remember(key, place, row);
  }
}

Row* ThreadTable::add(SessionFile& file, const RowKey& key, std::uint32_t balance) noexcept {
  if (row_count_ >= (mask_ + 1) / 4 * 3 && !grow_index(file)) return nullptr;
  if (rows_->used == layout::kRowsPerBlock) {
    BlockHeader* block = file.add_block(BlockType::rows, thread_, number_);
    if (block == nullptr) return nullptr;
    rows_ = block;
  }
  const RowPlace place = layout::row_place(file.number_of(rows_), rows_->used);
  Row* row = file.row(place);
  row->key = key;
  row->balance = balance;
  row->min = UINT64_MAX;
  // Release: a reader that sees the row sees its key.
  std::atomic_ref(rows_->used).store(rows_->used + 1, std::memory_order_release);
  insert(hash_of(key), place);
  ++row_count_;
  return remember(key, place, row);
}

void ThreadTable::insert(std::uint64_t hash, RowPlace place) noexcept {
  while (slots_[hash & mask_] != 0) ++hash;
  slots_[hash & mask_] = place;
}

bool ThreadTable::grow_index(const SessionFile& file) noexcept {
  const std::uint32_t old_slots = mask_ + 1;
  const std::size_t bytes = old_slots * 2 * sizeof(RowPlace);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  RowPlace* old = slots_;
  slots_ = static_cast<RowPlace*>(memory);
  mask_ = old_slots * 2 - 1;
  for (std::uint32_t at = 0; at < old_slots; ++at) {
    if (old[at] != 0) insert(hash_of(file.row(old[at])->key), old[at]);
  }
  if (old != first_slots_) munmap(old, old_slots * sizeof(RowPlace));
  return true;
}

void ThreadTable::count(Row& row, const Record& event) noexcept {
  if (event.error != 0) {
    bump(row.errors);
  } else {
    const std::uint64_t value = value_of(event);
    bump(row.total, value);
    if (value < row.min) store(row.min, value);
    if (value > row.max) store(row.max, value);
    if (has_duration(event.kind)) bump(row.bytes, event.bytes);
    bump_bucket(row.buckets[bucket_of(value)]);
  }
  bump(row.calls);
  if (event.end_ns > first_->last_ns) store(first_->last_ns, event.end_ns);
}

bool ThreadTable::append(const Record& event) noexcept {
  if (events_ == nullptr || events_->used == layout::kEventsPerBlock) return false;
  constexpr std::uint64_t kSequences = (std::uint64_t{1} << layout::kSequenceBits) - 1;
  auto* place = reinterpret_cast<Event*>(events_ + 1) + events_->used;
  *place = {.begin_ns = event.begin_ns,
            .end_ns = event.end_ns,
            .row = found_,
            .error = event.error,
            .bytes = event.bytes,
            .correlation = event.correlation,
            .operation = std::uint64_t{event.communicator} << layout::kSequenceBits | (event.sequence & kSequences)};
  // Release: a reader that counts the event sees its content.
  std::atomic_ref(events_->used).store(events_->used + 1, std::memory_order_release);
  return true;
}

bool ThreadTable::add_events(SessionFile& file) noexcept {
  BlockHeader* block = file.add_block(BlockType::events, thread_, number_);
  if (block != nullptr) events_ = block;
  return block != nullptr;
}

}  // namespace tutti::profiling

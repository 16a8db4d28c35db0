#include "session/descriptions.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace tutti::profiling {
namespace {

using layout::Entry;
using layout::kLongestText;
using layout::kTexts;

constexpr std::size_t kMostBytes = std::size_t{32} << 20;
constexpr std::uint32_t kFirstSlots = 1024;

void* zeroed_memory(std::size_t bytes) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

std::string_view cut(std::string_view text) noexcept { return text.substr(0, kLongestText); }

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

std::uint64_t mix(std::uint64_t hash, std::string_view text) noexcept {
  hash = mix(hash, text.size());
  while (text.size() >= 8) {
    std::uint64_t part = 0;
    std::memcpy(&part, text.data(), 8);
    hash = mix(hash, part);
    text.remove_prefix(8);
  }
  if (text.empty()) return hash;
  std::uint64_t part = 0;
  std::memcpy(&part, text.data(), text.size());
  return mix(hash, part);
}

std::uint64_t hash_of(const Description& description) noexcept {
  std::uint64_t hash = mix(static_cast<std::uint64_t>(description.type), description.a);
  if (description.b != 0) hash = mix(hash, description.b);
  const std::uint64_t numbers = static_cast<std::uint32_t>(description.c);
  hash = mix(hash, numbers << 32 | static_cast<std::uint32_t>(description.d));
  for (const std::string_view text : description.texts) hash = mix(hash, cut(text));
  return hash;
}

// The description that an entry of this process holds.
Description description_of(const Entry& entry) noexcept {
  Description description{.type = entry.type, .a = entry.a, .b = entry.b, .c = entry.c, .d = entry.d};
  const char* text = reinterpret_cast<const char*>(&entry + 1);
  for (std::size_t i = 0; i < kTexts; ++i) {
    description.texts[i] = {text, entry.lengths[i]};
    text += entry.lengths[i];
  }
  return description;
}

bool equal(const Entry& entry, const Description& wanted) noexcept {
  if (entry.type != wanted.type || entry.a != wanted.a || entry.b != wanted.b || entry.c != wanted.c ||
      entry.d != wanted.d) {
    return false;
  }
  const char* text = reinterpret_cast<const char*>(&entry + 1);
  for (std::size_t i = 0; i < kTexts; ++i) {
    if (cut(wanted.texts[i]) != std::string_view(text, entry.lengths[i])) return false;
    text += entry.lengths[i];
  }
  return true;
}

}  // namespace

std::uint32_t Descriptions::find_slot(const Description& wanted) const noexcept {
  // Acquire: the slots, and the entries before them, were written before the index and the slot were stored.
  const Index* index = index_.load(std::memory_order_acquire);
  if (index == nullptr) return 0;
  for (std::uint64_t at = hash_of(wanted);; ++at) {
    const std::uint32_t slot = index->slots[at & index->mask].load(std::memory_order_acquire);
    if (slot == 0 || equal(entry_at(slot), wanted)) return slot;
  }
}

std::uint32_t Descriptions::find(const Description& wanted) const noexcept {
  const std::uint32_t slot = find_slot(wanted);
  return slot == 0 ? 0 : entry_at(slot).number;
}

std::uint32_t Descriptions::find(const Description& wanted, std::uint32_t& hint) const noexcept {
  if (hint == 0 || !equal(entry_at(hint), wanted)) hint = find_slot(wanted);
  return hint == 0 ? 0 : entry_at(hint).number;
}

std::uint32_t Descriptions::add(const Description& added) noexcept {
  std::size_t bytes = sizeof(Entry);
  for (const std::string_view text : added.texts) bytes += cut(text).size();
  bytes = (bytes + 7) / 8 * 8;
  if (!make_room(bytes)) return 0;

  auto& counter = counts_[static_cast<std::size_t>(added.type)];
  auto& entry = *reinterpret_cast<Entry*>(entries_ + used_);
  entry = {.type = added.type,
           .entry_bytes = static_cast<std::uint16_t>(bytes),
           .number = counter.load(std::memory_order_relaxed) + 1,
           .a = added.a,
           .b = added.b,
           .c = added.c,
           .d = added.d,
           .lengths = {}};
  char* text = reinterpret_cast<char*>(&entry + 1);
  for (std::size_t i = 0; i < kTexts; ++i) {
    const std::string_view part = cut(added.texts[i]);
    entry.lengths[i] = static_cast<std::uint16_t>(part.size());
    if (!part.empty()) std::memcpy(text, part.data(), part.size());
    text += part.size();
  }
  counter.store(entry.number, std::memory_order_relaxed);
  const std::uint32_t slot = used_ / 8 + 1;
  used_ += static_cast<std::uint32_t>(bytes);
  ++entry_count_;
  insert(*index_.load(std::memory_order_relaxed), hash_of(added), slot);
  return entry.number;
}

Descriptions::Index* Descriptions::new_index(std::uint32_t slots) noexcept {
  void* memory = zeroed_memory(sizeof(Index) + slots * sizeof(std::uint32_t));
  if (memory == nullptr) return nullptr;
  auto* index = static_cast<Index*>(memory);
  index->mask = slots - 1;
  return index;
}

void Descriptions::insert(Index& index, std::uint64_t hash, std::uint32_t slot) noexcept {
  while (index.slots[hash & index.mask].load(std::memory_order_relaxed) != 0) ++hash;
  // Release: a thread that finds the slot sees the entry.
  index.slots[hash & index.mask].store(slot, std::memory_order_release);
}

bool Descriptions::make_room(std::size_t bytes) noexcept {
  if (entries_ == nullptr) {
    entries_ = static_cast<char*>(zeroed_memory(kMostBytes));
    if (entries_ == nullptr) return false;
    index_.store(new_index(kFirstSlots), std::memory_order_release);
  }
  const Index* index = index_.load(std::memory_order_relaxed);
  if (index == nullptr || used_ + bytes > kMostBytes) return false;
  return entry_count_ < (index->mask + 1) / 2 || grow_index();
}

bool Descriptions::grow_index() noexcept {
  Index* index = new_index((index_.load(std::memory_order_relaxed)->mask + 1) * 2);
  if (index == nullptr) return false;
  for (std::uint32_t at = 0; at < used_;) {
    const auto& entry = *reinterpret_cast<const Entry*>(entries_ + at);
    insert(*index, hash_of(description_of(entry)), at / 8 + 1);
    at += entry.entry_bytes;
  }
  index_.store(index, std::memory_order_release);
  return true;
}

}  // namespace tutti::profiling

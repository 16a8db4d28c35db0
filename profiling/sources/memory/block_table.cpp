#include "sources/memory/block_table.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace tutti::profiling::memory {
namespace {

std::size_t hash(std::uintptr_t address) noexcept {
  // Blocks are aligned to 16: their lowest bits say nothing.
  return static_cast<std::size_t>((address >> 4) * 0x9E3779B97F4A7C15U);
}

}  // namespace

BlockTable::Shard& BlockTable::shard_of(std::uintptr_t address) noexcept { return shards_[hash(address) >> 58]; }

/// The entry of the address, or the free one where it belongs.
std::size_t BlockTable::Shard::place_of(std::uintptr_t address) const noexcept {
  std::size_t place = hash(address) >> 20 & (capacity - 1);
  while (entries[place].address != 0 && entries[place].address != address) place = (place + 1) & (capacity - 1);
  return place;
}

bool BlockTable::Shard::grow() noexcept {
  const std::size_t wanted = capacity == 0 ? 256 : 2 * capacity;
  // By system call: mmap() itself is one of the functions that are watched.
  const long mapped =
      syscall(SYS_mmap, nullptr, wanted * sizeof(Entry), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == -1) return false;
  Shard larger;
  larger.entries = reinterpret_cast<Entry*>(mapped);
  larger.capacity = wanted;
  for (std::size_t i = 0; i < capacity; ++i) {
    if (entries[i].address != 0) larger.entries[larger.place_of(entries[i].address)] = entries[i];
  }
  if (entries != nullptr) syscall(SYS_munmap, entries, capacity * sizeof(Entry));
  entries = larger.entries;
  capacity = wanted;
  return true;
}

bool BlockTable::add(const void* address, Block block) noexcept {
  const int saved_errno = errno;
  const auto key = reinterpret_cast<std::uintptr_t>(address);
  Shard& shard = shard_of(key);
  pthread_mutex_lock(&shard.mutex);
  const bool fits = 4 * (shard.used + 1) <= 3 * shard.capacity || shard.grow();
  if (fits) {
    Entry& entry = shard.entries[shard.place_of(key)];
    if (entry.address == 0) ++shard.used;
    entry = {key, block};
  }
  pthread_mutex_unlock(&shard.mutex);
  errno = saved_errno;
  return fits;
}

std::optional<Block> BlockTable::remove(const void* address) noexcept {
  const auto key = reinterpret_cast<std::uintptr_t>(address);
  Shard& shard = shard_of(key);
  std::optional<Block> found;
  pthread_mutex_lock(&shard.mutex);
  std::size_t hole = shard.capacity == 0 ? 0 : shard.place_of(key);
  if (shard.capacity != 0 && shard.entries[hole].address == key) {
    found = shard.entries[hole].block;
    --shard.used;
    // Entries behind the hole move up, unless that would put them before the place where their search begins.
    const std::size_t mask = shard.capacity - 1;
    for (std::size_t next = (hole + 1) & mask; shard.entries[next].address != 0; next = (next + 1) & mask) {
      const std::size_t first = hash(shard.entries[next].address) >> 20 & mask;
      if (((next - first) & mask) < ((next - hole) & mask)) continue;
      shard.entries[hole] = shard.entries[next];
      hole = next;
    }
    shard.entries[hole].address = 0;
  }
  pthread_mutex_unlock(&shard.mutex);
  return found;
}

void BlockTable::lock_all() noexcept {
  for (Shard& shard : shards_) pthread_mutex_lock(&shard.mutex);
}

void BlockTable::unlock_all() noexcept {
  for (Shard& shard : shards_) pthread_mutex_unlock(&shard.mutex);
}

}  // namespace tutti::profiling::memory

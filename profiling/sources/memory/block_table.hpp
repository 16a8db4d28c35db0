#pragma once

#include <pthread.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tutti::profiling::memory {

/// Size and owner of a block.
struct Block {
  std::uint64_t bytes = 0;
  std::uint32_t owner = 0;  ///< number of its name in the session
};

/// The blocks of this process that are in use. Takes its own memory from the kernel, never from malloc. Thread-safe.
class BlockTable {
 public:
  /// Adds a block, or replaces the one at this address. False if there is no memory for the entry.
  bool add(const void* address, Block block) noexcept;
  /// Removes the block at this address; nothing if there is none.
  std::optional<Block> remove(const void* address) noexcept;

  /// Around fork(): no other thread is inside the table meanwhile, so that the child finds it in order.
  void lock_all() noexcept;
  void unlock_all() noexcept;

 private:
  struct Entry {
    std::uintptr_t address;
    Block block;
  };
  /// A part of the addresses with a lock of its own: open addressing without marks for removed entries.
  struct alignas(64) Shard {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    Entry* entries = nullptr;
    std::size_t capacity = 0;  ///< a power of two, or 0
    std::size_t used = 0;

    [[nodiscard]] std::size_t place_of(std::uintptr_t address) const noexcept;
    bool grow() noexcept;
  };
  static constexpr std::size_t kShards = 64;

  Shard& shard_of(std::uintptr_t address) noexcept;

  std::array<Shard, kShards> shards_;
};

}  // namespace tutti::profiling::memory

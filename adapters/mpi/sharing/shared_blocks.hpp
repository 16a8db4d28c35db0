#pragma once

#include <cstddef>
#include <cstdint>

/// Large blocks of the program's memory that lie in tutti's file of shared memory (tutti::allocate), so that reductions
/// on them take one pass. Off unless TUTTI_PRELOAD_SHARE is set. All functions are thread-safe and take no lock, since
/// they stand behind malloc() and free().
namespace tutti::adapters::mpi {

/// Smallest block that is shared, in bytes.
inline constexpr std::size_t kLeastSharedBlock = std::size_t{1} << 20;
inline constexpr std::uintptr_t kSharedPage = 4096;

/// Function that the block came from, which decides how it ends.
enum class BlockOrigin : std::uint8_t { heap, mapping };

/// Whether a block of this size may be shared now.
[[nodiscard]] bool wants_shared_block(std::size_t bytes) noexcept;
/// Zeroed, page-aligned memory; null if it cannot be had: the caller takes ordinary memory.
[[nodiscard]] void* make_shared_block(std::size_t bytes, BlockOrigin origin) noexcept;
/// Size of the block that begins at `data`; 0 if there is none of this origin.
[[nodiscard]] std::size_t shared_block_size(const void* data, BlockOrigin origin) noexcept;
/// Frees the block that begins at `data`; false if there is none of this origin.
[[nodiscard]] bool free_shared_block(void* data, BlockOrigin origin) noexcept;
/// Makes all blocks that the range touches private memory with the same content at the same address, because the
/// program is about to change its pages. A mapping is no block from then on.
void part_shared_blocks(const void* data, std::size_t bytes) noexcept;

/// The same for all mappings.
void part_shared_mappings() noexcept;

}  // namespace tutti::adapters::mpi

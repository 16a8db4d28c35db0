#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::profiling {

/// Facts about this process that the session's file has. Without allocation; `errno` may change.

/// Writes the arguments, separated by spaces, as a text that ends with a zero.
void read_command(std::span<char> text) noexcept;
void read_host(std::span<char> text) noexcept;
/// Largest resident memory so far, in bytes; 0 if the kernel does not tell.
[[nodiscard]] std::uint64_t resident_peak() noexcept;
/// Nanoseconds to add to CLOCK_MONOTONIC for CLOCK_REALTIME.
[[nodiscard]] std::int64_t realtime_offset() noexcept;
/// Reads a small file whole, up to the size of the text; returns the number of bytes, 0 on failure. Follows no link.
[[nodiscard]] std::size_t read_small_file(const char* path, std::span<char> text) noexcept;

}  // namespace tutti::profiling

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace tutti::base {

/// The class of a message size in tables of people who tune Horovod: up to 1 KB, 1 MB, 10 MB, then in steps of 10 MB up
/// to 100 MB, and of 50 MB above. MB are 2^20 bytes, as in Horovod's fusion threshold: the largest gradient of VGG-16
/// has 392 of them.
[[nodiscard]] std::size_t size_class(std::uint64_t bytes) noexcept;

/// Bounds of a class in bytes: above the first one, up to the second one.
struct SizeBounds {
  std::uint64_t above = 0;
  std::uint64_t up_to = 0;

  friend bool operator==(const SizeBounds&, const SizeBounds&) = default;
};
[[nodiscard]] SizeBounds bounds_of_class(std::size_t size_class) noexcept;

/// "(1KB, 1MB]"
[[nodiscard]] std::string name_of_class(std::size_t size_class);

/// Sums of the operations of a class.
struct SizeTotals {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  double time_us = 0;
};

/// Operations by class of size; only classes that have some.
using SizeHistogram = std::map<std::size_t, SizeTotals>;

/// Adds `count` operations of `bytes` each that took `time_us` together.
void add_operations(SizeHistogram& histogram, std::uint64_t bytes, std::uint64_t count, double time_us);

}  // namespace tutti::base

#include "base/size_classes.hpp"

#include <array>

namespace tutti::base {
namespace {

constexpr std::uint64_t kKilobyte = std::uint64_t{1} << 10;
constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;
// The first classes end here, the following ones after a step each.
constexpr std::array<std::uint64_t, 3> kFirst = {kKilobyte, kMegabyte, 10 * kMegabyte};
constexpr std::uint64_t kHundred = 100 * kMegabyte;
constexpr std::uint64_t kStep = 10 * kMegabyte;
constexpr std::uint64_t kLargeStep = 50 * kMegabyte;
constexpr std::size_t kLargeClasses = kFirst.size() + 9;  ///< the first one of those of 50 MB

std::string short_size(std::uint64_t bytes) {
  if (bytes == 0) return "0";
  return bytes < kMegabyte ? std::to_string(bytes / kKilobyte) + "KB" : std::to_string(bytes / kMegabyte) + "MB";
}

}  // namespace

std::size_t size_class(std::uint64_t bytes) noexcept {
  for (std::size_t i = 0; i < kFirst.size(); ++i) {
    if (bytes <= kFirst[i]) return i;
  }
  if (bytes <= kHundred) return kFirst.size() + static_cast<std::size_t>((bytes - 1) / kStep) - 1;
  return kLargeClasses + static_cast<std::size_t>((bytes - kHundred - 1) / kLargeStep);
}

SizeBounds bounds_of_class(std::size_t size_class) noexcept {
  if (size_class < kFirst.size()) return {size_class == 0 ? 0 : kFirst[size_class - 1], kFirst[size_class]};
  if (size_class < kLargeClasses) {
    const std::uint64_t above = kStep * (size_class - kFirst.size() + 1);
    return {above, above + kStep};
  }
  const std::uint64_t above = kHundred + kLargeStep * (size_class - kLargeClasses);
  return {above, above + kLargeStep};
}

std::string name_of_class(std::size_t size_class) {
  const SizeBounds bounds = bounds_of_class(size_class);
  return "(" + short_size(bounds.above) + ", " + short_size(bounds.up_to) + "]";
}

void add_operations(SizeHistogram& histogram, std::uint64_t bytes, std::uint64_t count, double time_us) {
  if (count == 0) return;
  SizeTotals& totals = histogram[size_class(bytes)];
  totals.count += count;
  totals.bytes += bytes * count;
  totals.time_us += time_us;
}

}  // namespace tutti::base

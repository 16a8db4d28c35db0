#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tutti::tools {

/// Kind of a number in the report: chooses ticks and units.
enum class Quantity : std::uint8_t { time_us, gigabytes_per_second, count, bytes, factor };

/// "4.56 µs", "12.3 GB/s", "48", "1 MiB", "1.5×"
[[nodiscard]] std::string quantity_text(Quantity quantity, double value);

struct AxisTick {
  double value = 0;
  std::string label;
};

/// A logarithmic axis.
struct Axis {
  double low = 1;
  double high = 10;
  std::vector<AxisTick> ticks;

  /// Place of a value on the axis: 0 at the low end, 1 at the high end.
  [[nodiscard]] double place(double value) const;
};

/// Axis of message sizes, with at most `most` labels. `sizes` are ascending and not empty.
[[nodiscard]] Axis size_axis(std::span<const std::uint64_t> sizes, std::size_t most);

/// Axis from `least` to `largest`, both above 0, with ticks at round numbers at and beyond both ends.
[[nodiscard]] Axis value_axis(Quantity quantity, double least, double largest);

}  // namespace tutti::tools

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tutti::base {

/// Units of the tallies of iprof, which tables of tutti share so that they can be laid side by side.
struct TallyUnit {
  double size;
  std::string_view name;
};

inline constexpr std::array<TallyUnit, 6> kTallyTimeUnits = {
    {{3.6e12, "h"}, {6e10, "min"}, {1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
inline constexpr std::array<TallyUnit, 6> kTallyByteUnits = {
    {{1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};

/// "1.85min", "304.39ms", "7.05GB", "12B": the value in the first unit of which it has at least one. A value in the
/// last unit is printed as its type has it: whole numbers without decimals, averages with two.
[[nodiscard]] std::string in_tally_units(std::uint64_t value, std::span<const TallyUnit> units);
[[nodiscard]] std::string in_tally_units(double value, std::span<const TallyUnit> units);

/// The inverse: nothing when `text` is not a number of 0 or more with one of the units behind it.
[[nodiscard]] std::optional<double> parse_tally_units(std::string_view text, std::span<const TallyUnit> units);

}  // namespace tutti::base

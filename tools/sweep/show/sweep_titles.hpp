#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/types/operation.hpp"

namespace tutti::tools {

/// The rows of the results that share a table.
struct SweepSection {
  OpKind op = OpKind::allreduce;
  int ranks = 1;
  bool in_place = false;

  friend auto operator<=>(const SweepSection&, const SweepSection&) = default;
};

inline constexpr std::size_t kSizeWidth = 8;

/// "allreduce (sum), in place, 4 ranks"
[[nodiscard]] std::string section_title(const SweepSection& section, bool with_ranks);

/// Exact if that fits kSizeWidth, else rounded.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

/// The value of a setting of the form "NAME=value"; empty when it is not there.
[[nodiscard]] std::string setting_value(const std::vector<std::string>& settings, std::string_view name);

}  // namespace tutti::tools

#pragma once

#include <string>
#include <string_view>

#include "results/sweep_results.hpp"

namespace tutti::tools {

/// Version of the schema that to_json() writes; docs/sweep-format.md describes it.
inline constexpr int kResultsVersion = 2;

[[nodiscard]] std::string to_json(const SweepResults& results);

/// Results from to_json(), also of version 1, whose rows have no counts. `where` names the text in errors. Throws
/// Error{config} that names the row and the key that is wrong, for files that were cut off, edited by hand or are of a
/// newer version.
[[nodiscard]] SweepResults results_from_json(std::string_view text, std::string_view where);

/// Throws Error{system} when the file cannot be read.
[[nodiscard]] SweepResults read_results(const std::string& path);

}  // namespace tutti::tools

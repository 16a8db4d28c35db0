#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/comparison_table.hpp"

namespace tutti::tools {

/// Reads the Markdown of such a table, as print() writes it, too. A row of titles ("Total CPU Time", "Total GPU Time",
/// "Total Mem Bytes", "Total Alloc Bytes", each followed by its calls) begins a part; the first column has the sizes,
/// in MiB without a unit; a backend's name stands before its amount. Cells may be empty or wrong. `name` is the title
/// of the table and names the file in errors. Throws Error{config} when there is no such table, or a row has no end.
[[nodiscard]] ComparisonTable imported_table(std::string_view markdown, const std::string& name);

/// Reads the file; the title is its name without folder and ending. Throws Error{system} when that fails.
[[nodiscard]] ComparisonTable read_imported_table(const std::string& path);

}  // namespace tutti::tools

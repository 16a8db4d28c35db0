#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/comparison_table.hpp"

namespace tutti::tools {

/// A comparison table that people made of iprof's output, with the cells that look wrong.
struct ImportedTable {
  ComparisonTable table;  ///< such cells have a mark, and a remark of the same number
  std::string text;       ///< prose of the file in lower case, letters only: tells its operation
};

/// Reads the Markdown of such a table, as print() writes it, too. A row of titles ("Total CPU Time", "Total GPU Time",
/// "Total Mem Bytes", "Total Alloc Bytes", each followed by its calls) begins a part; the first column has the sizes,
/// in MiB without a unit; a backend's name stands before its amount. Cells may be empty or wrong. `name` is the title
/// of the table and names the file in errors. Throws Error{config} when there is no such table, or a row has no end.
[[nodiscard]] ImportedTable imported_table(std::string_view markdown, const std::string& name);

/// Reads the file. Throws Error{system} when that fails.
[[nodiscard]] ImportedTable read_imported_table(const std::string& path);

}  // namespace tutti::tools

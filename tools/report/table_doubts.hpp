#pragma once

#include "report/comparison_table.hpp"

namespace tutti::tools {

/// Looks for cells of a table made by hand that contradict the others of their backend, marks them with "[1]", "[2]"
/// and adds a remark with the reason for each number:
/// - host and device are swapped: their calls fit the other part's calls at the other sizes;
/// - amounts that are no number with a unit of the part, such as a time in a column of bytes;
/// - less than half the calls, or more than twice as many, as the median of the other sizes;
/// - empty cells, and amounts without calls or calls without amounts.
void mark_doubts(ComparisonTable& table);

}  // namespace tutti::tools

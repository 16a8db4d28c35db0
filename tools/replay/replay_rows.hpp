#pragma once

#include <cstdint>
#include <vector>

#include "record/record.hpp"

namespace tutti::tools {

/// Lines of the tables of a replay: operations of one kind and size.
struct ReplayRow {
  OpKind op = OpKind::allreduce;
  std::uint64_t bytes = 0;  ///< message size

  friend auto operator<=>(const ReplayRow&, const ReplayRow&) = default;
};

struct ReplayRows {
  std::vector<ReplayRow> rows;            ///< by operation, then by size
  std::vector<std::size_t> of_operation;  ///< by index of JobRecord::operations
};

/// The same on all ranks.
[[nodiscard]] ReplayRows rows_of(const replay::JobRecord& record, int ranks);

/// Sums of one rank, or of all ranks, for a row.
struct RowTotals {
  std::uint64_t calls = 0;
  double time_us = 0;  ///< in the calls and in the waits for them
  std::uint64_t host_calls = 0;
};

/// The times in the record, summed over the ranks. Calls whose time is not known count in `unknown` instead of `calls`.
struct RecordedTotals {
  std::vector<RowTotals> rows;
  std::vector<std::uint64_t> unknown;
};
[[nodiscard]] RecordedTotals recorded_totals(const replay::JobRecord& record, const ReplayRows& rows, int ranks);

}  // namespace tutti::tools

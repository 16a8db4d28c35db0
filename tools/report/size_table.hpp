#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/size_classes.hpp"
#include "report/report_table.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::tools {

/// Operations of one kind in a run.
struct NamedSizes {
  std::string name;  ///< of the run; shown if there are several
  const base::SizeHistogram* sizes = nullptr;
};

/// Rate that a table of sizes shows.
enum class RateKind : std::uint8_t {
  bus,    ///< of the busiest link: 2(n-1)/n times the plain one for an allreduce
  plain,  ///< bytes of the message by time
};

/// Factor for the plain rate.
[[nodiscard]] double rate_factor(RateKind rate, OpKind kind, int ranks) noexcept;

/// In 2^20 bits per second, so that size, time and rate of a line fit each other; 0 without a time.
[[nodiscard]] double megabits_per_second(const base::SizeTotals& totals, double factor) noexcept;

/// Count, average size, rate, total and average time and share of time by class of size, of the runs side by side.
[[nodiscard]] ReportTable size_table(OpKind kind, std::span<const NamedSizes> runs, double rate_factor);

}  // namespace tutti::tools

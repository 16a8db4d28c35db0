#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/report_printer.hpp"
#include "results/sweep_results.hpp"

namespace tutti::tools {

/// The four costs of a cell, each with a part of the comparison table. They are totals over ranks and counted calls.
enum class Cost : std::uint8_t { host, device, traffic, allocation };
inline constexpr std::size_t kCostCount = 4;

struct CostTraits {
  Cost cost;
  std::string_view name;          ///< "host"
  std::string_view part;          ///< title of the part
  std::string_view amount_title;  ///< as in tables that people made of iprof's output
  std::string_view calls_title;
  bool is_bytes;  ///< amounts are bytes, else nanoseconds
};

inline constexpr std::array<CostTraits, kCostCount> kCosts = {{
    {Cost::host, "host", "Part 1: host time and calls", "Total CPU Time", "Total CPU calls", false},
    {Cost::device, "device", "Part 2: device time and calls", "Total GPU Time", "Total GPU calls", false},
    {Cost::traffic, "traffic", "Part 3: explicit memory traffic, bytes and calls", "Total Mem Bytes", "Total Mem calls",
     true},
    {Cost::allocation, "allocation", "Part 4: allocated memory, bytes and calls", "Total Alloc Bytes",
     "Total Alloc calls", true},
}};

[[nodiscard]] constexpr const CostTraits& traits(Cost cost) noexcept { return kCosts[static_cast<std::size_t>(cost)]; }

/// Amount and calls of one cost of a backend at a size.
struct ComparisonCell {
  std::optional<double> amount = {};  ///< nanoseconds or bytes
  std::optional<std::uint64_t> calls = {};
  std::string text = {};  ///< shown in place of the amount: "failed", or an amount that is in no unit of the part
  std::string mark = {};  ///< shown behind the amount: "[1]" refers to a remark

  [[nodiscard]] bool is_empty() const noexcept { return !amount && !calls && text.empty(); }
  /// The amount in iprof's units, or the text; empty without calls, as iprof prints it.
  [[nodiscard]] std::string amount_text(Cost cost) const;
};

using ComparisonCells = std::array<ComparisonCell, kCostCount>;

/// The columns of one backend.
struct ComparisonColumn {
  std::string name;
  std::vector<std::string> header_lines = {};        ///< "native BACKEND_NATIVE | 1 Hostnames | ..."
  std::map<std::uint64_t, ComparisonCells> by_size;  ///< by bytes
};

/// Sizes down, backends across; a group of cells that differ in size and backend only.
struct ComparisonTable {
  std::string title;
  std::vector<ComparisonColumn> columns;
  std::vector<OpKind> ops = {};  ///< the operation of the cells; of an imported table those that its prose names
  std::vector<std::string> remarks = {};

  /// Bytes of all sizes that a column has, ascending.
  [[nodiscard]] std::vector<std::uint64_t> sizes() const;
};

/// One table per operation, type, number of ranks and place. None for results without counts.
[[nodiscard]] std::vector<ComparisonTable> comparison_tables(const SweepResults& results);

/// Adds the columns of `other` to the right, with " (source)" behind their names. Remarks stay where they are.
void append_columns(ComparisonTable& table, const ComparisonTable& other, std::string_view source);

/// Prints header lines, parts and remarks. Markdown has the columns of the tables that people made of iprof's output.
void print(ReportPrinter& printer, const ComparisonTable& table);

/// All tables of the results in one text, for `tutti sweep --compare`. Says so when there are no counts.
[[nodiscard]] std::string comparison_text(const SweepResults& results, ReportFormat format, const Terminal& terminal);

}  // namespace tutti::tools

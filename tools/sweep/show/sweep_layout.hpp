#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "results/sweep_results.hpp"
#include "sweep/show/sweep_titles.hpp"

namespace tutti::tools {

/// Columns that the tables of some results need.
struct SweepLayout {
  bool has_device = false;  ///< any rank is on a device; before any rank has reported its device: --device asked for it
  bool has_interval = false;    ///< cells have several runs
  std::size_t group_width = 0;  ///< of the columns of a backend

  explicit SweepLayout(const SweepResults& results);
};

inline constexpr std::size_t kTimeWidth = 8;
inline constexpr std::size_t kIntervalWidth = 6;
inline constexpr std::size_t kBandwidthWidth = 8;
inline constexpr std::size_t kDeviceWidth = 8;
inline constexpr std::size_t kMarkWidth = 1;  ///< the asterisk of the fastest

/// The part of a status that fits the columns of a backend; the full status is below the table.
[[nodiscard]] std::string short_status(const std::string& status, std::size_t width);

/// The tables of an operation, in the order in which they are shown; one without rows when nothing was measured.
[[nodiscard]] std::vector<SweepSection> sections_of(const SweepResults& results, OpKind op);

/// All numbers of ranks of the tables, ascending.
[[nodiscard]] std::vector<int> rank_counts(const SweepResults& results);

/// The explanation of the columns and signs that occur in the tables.
[[nodiscard]] std::string table_legend(const SweepResults& results);
/// Lines below the tables: failures, emulation, which library served which sizes, backends that were not measured.
[[nodiscard]] std::vector<std::string> table_notes(const SweepResults& results);

}  // namespace tutti::tools

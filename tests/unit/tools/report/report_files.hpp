#pragma once

#include <string>
#include <vector>

#include "analysis/invented_results.hpp"
#include "report/named_results.hpp"

/// Files for reports, with each kind of result that a report shows.
namespace tutti::tools::test {

inline constexpr std::string_view kEvilText = "</script><script>alert(\"1\")</script> & 'more' <b>";

inline SweepRow counted_row(std::string backend, double time_us, std::uint64_t bytes) {
  SweepRow counted = row(std::move(backend), time_us, bytes);
  counted.counts = CellCounts{.calls = 10,
                              .host_calls = 120,
                              .host_time_us = time_us * 36.5,
                              .device_calls = 80,
                              .device_time_us = time_us * 20.25,
                              .traffic_calls = 40,
                              .traffic_bytes = bytes * 80,
                              .alloc_calls = 8,
                              .alloc_bytes = bytes * 10,
                              .peak_bytes = bytes};
  counted.rank_time_us = {time_us * 0.8, time_us, time_us * 0.9, time_us * 0.85};
  counted.served_by = counted.backend;
  return counted;
}

/// native is fastest at 1 MiB and 4 MiB, mpi at 2 MiB within the noise; mpi fails at 4 MiB.
inline NamedResults invented_file(std::string name, double scale) {
  std::vector<SweepRow> rows = {counted_row("native", 123.456789 * scale, kMiB),
                                counted_row("mpi", 251.0000001 * scale, kMiB),
                                counted_row("native", 300.25 * scale, 2 * kMiB),
                                counted_row("mpi", 299.5 * scale, 2 * kMiB),
                                counted_row("native", 1.0 / 3.0 * 2000 * scale, 4 * kMiB),
                                failed_row("mpi", "failed: " + std::string(kEvilText), 4 * kMiB)};
  rows[0].note = kEvilText;
  NamedResults file{std::move(name), results_of(std::move(rows))};
  file.results.unusable.push_back({"ccl", std::string(kEvilText)});
  file.results.backends[0].library = std::string("/lib/") + std::string(kEvilText);
  return file;
}

}  // namespace tutti::tools::test

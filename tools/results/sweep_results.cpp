#include "results/sweep_results.hpp"

#include <algorithm>

#include "analysis/statistics.hpp"

namespace tutti::tools {

void CellCounts::add_rank(const CellCounts& rank) noexcept {
  calls = std::max(calls, rank.calls);
  host_calls += rank.host_calls;
  host_time_us += rank.host_time_us;
  device_calls += rank.device_calls;
  device_time_us += rank.device_time_us;
  traffic_calls += rank.traffic_calls;
  traffic_bytes += rank.traffic_bytes;
  alloc_calls += rank.alloc_calls;
  alloc_bytes += rank.alloc_bytes;
  peak_bytes = std::max(peak_bytes, rank.peak_bytes);
}

void BackendSetup::add_setting(std::string setting) {
  if (std::ranges::find(settings, setting) == settings.end()) settings.push_back(std::move(setting));
}

void BackendSetup::add_use(const BackendSetup& job) {
  if (!job.library.empty()) library = job.library;
  hostnames = std::max(hostnames, job.hostnames);
  processes = std::max(processes, job.processes);
  threads = std::max(threads, job.threads);
  devices = std::max(devices, job.devices);
  subdevices = std::max(subdevices, job.subdevices);
}

SweepRow make_row(const SweepCell& cell, const std::string& backend, const CellShape& shape,
                  std::span<const double> times_us) {
  SweepRow row{
      .cell = cell, .backend = backend, .ranks = shape.ranks, .type = shape.type, .bytes = shape.message_bytes()};
  row.time_us_p50 = percentile(times_us, 0.5);
  row.time_us_min = percentile(times_us, 0.0);
  row.time_us_p99 = percentile(times_us, 0.99);
  row.algbw_gbs = static_cast<double>(row.bytes) / (row.time_us_p50 * 1e3);
  row.busbw_gbs = row.algbw_gbs * bus_bandwidth_factor(cell.op, shape.ranks);
  return row;
}

}  // namespace tutti::tools

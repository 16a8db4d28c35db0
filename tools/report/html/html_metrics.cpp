#include "report/html/html_metrics.hpp"

#include <algorithm>
#include <array>

namespace tutti::tools {
namespace {

using Value = std::optional<double>;

/// A total over ranks and counted calls, for one call on one rank.
template <typename Number>
Value per_call(const SweepRow& row, Number CellCounts::*total) {
  if (!row.counts || row.counts->calls == 0) return {};
  return static_cast<double>((*row.counts).*total) / (static_cast<double>(row.counts->calls) * row.ranks);
}

Value time(const SweepRow& row) { return row.time_us_p50; }
Value bandwidth(const SweepRow& row) { return row.shown_gbs(); }
Value host_calls(const SweepRow& row) { return per_call(row, &CellCounts::host_calls); }
Value host_time(const SweepRow& row) { return per_call(row, &CellCounts::host_time_us); }
Value device_calls(const SweepRow& row) { return per_call(row, &CellCounts::device_calls); }
Value device_time(const SweepRow& row) { return per_call(row, &CellCounts::device_time_us); }
Value observed_device_time(const SweepRow& row) { return row.device.time_us; }
Value traffic(const SweepRow& row) { return per_call(row, &CellCounts::traffic_bytes); }
Value allocated(const SweepRow& row) { return per_call(row, &CellCounts::alloc_bytes); }

Value peak(const SweepRow& row) {
  if (!row.counts) return {};
  return static_cast<double>(row.counts->peak_bytes);
}

constexpr std::array kMetrics = {
    Metric{"time", "Time", "median of the calls, each timed by its slowest rank", Quantity::time_us, &time},
    Metric{"bandwidth", "Bus bandwidth", "GB/s, as nccl-tests defines it; with one rank size by time",
           Quantity::gigabytes_per_second, &bandwidth},
    Metric{"host-calls", "Host calls", "calls into the library, per operation and rank", Quantity::count, &host_calls},
    Metric{"host-time", "Host time", "inside the library, per operation and rank", Quantity::time_us, &host_time},
    Metric{"device-calls", "Device calls", "kernels, copies and operations, per operation and rank", Quantity::count,
           &device_calls},
    Metric{"device-time", "Device time", "of kernels, copies and operations, per operation and rank", Quantity::time_us,
           &device_time},
    Metric{"observed-device-time", "Device busy", "any work running, on the rank where it was longest",
           Quantity::time_us, &observed_device_time},
    Metric{"traffic", "Copied bytes", "explicit copies between memories, per operation and rank", Quantity::bytes,
           &traffic},
    Metric{"allocated", "Allocated memory", "bytes, per operation and rank", Quantity::bytes, &allocated},
    Metric{"peak", "Peak memory", "most that was allocated at once, on the rank where it was most", Quantity::bytes,
           &peak},
};

}  // namespace

std::span<const Metric> metrics() { return kMetrics; }

bool has_values(const ReportPanel& panel, const Metric& metric) {
  return std::ranges::any_of(panel.series, [&](const PanelSeries& series) {
    return std::ranges::any_of(series.rows, [&](const auto& entry) {
      const SweepRow* row = series.ok_row(entry.first);
      return row != nullptr && metric.value(*row).value_or(0) > 0;
    });
  });
}

}  // namespace tutti::tools

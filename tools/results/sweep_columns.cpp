#include "results/sweep_columns.hpp"

#include <array>

namespace tutti::tools {
namespace {

using Json = nlohmann::ordered_json;

/// A value that only successful cells have.
template <auto member>
Json timed(const SweepResults&, const SweepRow& row) {
  return row.ok() ? Json(row.*member) : Json(nullptr);
}

template <auto member>
Json observed(const SweepResults&, const SweepRow& row) {
  return row.ok() ? Json(row.device.*member) : Json(nullptr);
}

template <auto member>
Json counted(const SweepResults&, const SweepRow& row) {
  return row.counts ? Json((*row.counts).*member) : Json(nullptr);
}

template <auto member>
Json always(const SweepResults&, const SweepRow& row) {
  return row.*member;
}

constexpr std::array kColumns = {
    SweepColumn{"op", [](const SweepResults&, const SweepRow& row) { return Json(name(row.cell.op)); }},
    SweepColumn{"bytes", always<&SweepRow::bytes>},
    SweepColumn{"requested_bytes", [](const SweepResults&, const SweepRow& row) { return Json(row.cell.bytes); }},
    SweepColumn{"in_place", [](const SweepResults&, const SweepRow& row) { return Json(row.cell.in_place); }},
    SweepColumn{"dtype", [](const SweepResults&, const SweepRow& row) { return Json(name(row.type)); }},
    SweepColumn{"backend", always<&SweepRow::backend>},
    SweepColumn{"device", [](const SweepResults& results, const SweepRow&) { return Json(results.device); }},
    SweepColumn{"rank_devices", always<&SweepRow::rank_devices>},
    SweepColumn{"ranks", always<&SweepRow::ranks>},
    SweepColumn{"status", always<&SweepRow::status>},
    SweepColumn{"time_us_p50", timed<&SweepRow::time_us_p50>},
    SweepColumn{"time_us_min", timed<&SweepRow::time_us_min>},
    SweepColumn{"time_us_p99", timed<&SweepRow::time_us_p99>},
    SweepColumn{"algbw_gbs", timed<&SweepRow::algbw_gbs>},
    SweepColumn{"busbw_gbs", timed<&SweepRow::busbw_gbs>},
    SweepColumn{"run_medians_us", always<&SweepRow::run_medians_us>},
    SweepColumn{"rank_time_us", always<&SweepRow::rank_time_us>},
    SweepColumn{"run_steps_us", always<&SweepRow::run_steps_us>},
    SweepColumn{"run_computes_us", always<&SweepRow::run_computes_us>},
    SweepColumn{"observed_device_calls", observed<&DeviceUse::calls>},
    SweepColumn{"observed_device_time_us", observed<&DeviceUse::time_us>},
    SweepColumn{"device_time_is_span", observed<&DeviceUse::is_span>},
    SweepColumn{"observed_time_us", timed<&SweepRow::observed_time_us>},
    SweepColumn{"counted_calls", counted<&CellCounts::calls>},
    SweepColumn{"host_calls", counted<&CellCounts::host_calls>},
    SweepColumn{"host_time_us", counted<&CellCounts::host_time_us>},
    SweepColumn{"device_calls", counted<&CellCounts::device_calls>},
    SweepColumn{"device_time_us", counted<&CellCounts::device_time_us>},
    SweepColumn{"traffic_bytes", counted<&CellCounts::traffic_bytes>},
    SweepColumn{"traffic_calls", counted<&CellCounts::traffic_calls>},
    SweepColumn{"alloc_bytes", counted<&CellCounts::alloc_bytes>},
    SweepColumn{"alloc_calls", counted<&CellCounts::alloc_calls>},
    SweepColumn{"peak_bytes", counted<&CellCounts::peak_bytes>},
    SweepColumn{"served_by", always<&SweepRow::served_by>},
    SweepColumn{"emulated", always<&SweepRow::emulated>},
    SweepColumn{"staged", always<&SweepRow::is_staged>},
    SweepColumn{"note", always<&SweepRow::note>},
};

}  // namespace

std::span<const SweepColumn> sweep_columns() noexcept { return kColumns; }

}  // namespace tutti::tools

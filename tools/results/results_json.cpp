#include "results/results_json.hpp"

#include <nlohmann/json.hpp>

#include "text/json_text.hpp"

namespace tutti::tools {
namespace {

nlohmann::ordered_json to_json(const SweepResults& results, const SweepRow& row) {
  const auto measured = [&](double value) { return row.ok() ? nlohmann::ordered_json(value) : nullptr; };
  return {{"op", name(row.cell.op)},
          {"bytes", row.bytes},
          {"dtype", name(results.type)},
          {"backend", row.backend},
          {"device", results.device},
          {"rank_devices", row.rank_devices},
          {"ranks", results.ranks},
          {"status", row.status},
          {"time_us_p50", measured(row.time_us_p50)},
          {"time_us_min", measured(row.time_us_min)},
          {"time_us_p99", measured(row.time_us_p99)},
          {"algbw_gbs", measured(row.algbw_gbs)},
          {"busbw_gbs", measured(row.busbw_gbs)},
          {"device_calls", row.ok() ? nlohmann::ordered_json(row.device.calls) : nullptr},
          {"device_time_us", measured(row.device.time_us)},
          {"device_time_is_span", row.ok() ? nlohmann::ordered_json(row.device.is_span) : nullptr},
          {"observed_time_us", measured(row.observed_time_us)},
          {"note", row.note}};
}

nlohmann::ordered_json to_json(const BackendSetup& setup) {
  return {{"backend", setup.backend},
          {"version", setup.version},
          {"launcher", setup.launcher},
          {"variables", setup.variables},
          {"settings", setup.settings}};
}

}  // namespace

std::string to_json(const SweepResults& results) {
  nlohmann::ordered_json backends = nlohmann::ordered_json::array();
  for (const BackendSetup& setup : results.backends) backends.push_back(to_json(setup));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const SweepRow& row : results.rows) rows.push_back(to_json(results, row));
  return to_text({{"backends", std::move(backends)}, {"rows", std::move(rows)}});
}

}  // namespace tutti::tools

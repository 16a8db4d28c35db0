#include "results/results_csv.hpp"

#include <sstream>

#include "text/text.hpp"

namespace tutti::tools {
namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string to_csv(const SweepResults& results) {
  std::ostringstream out;
  out << "op,bytes,dtype,backend,device,rank_devices,ranks,status,time_us_p50,time_us_min,time_us_p99,algbw_gbs,"
         "busbw_gbs,device_calls,device_time_us,device_time_is_span,observed_time_us,note\n";
  for (const SweepRow& row : results.rows) {
    out << name(row.cell.op) << ',' << row.bytes << ',' << name(results.type) << ',' << row.backend << ','
        << csv_field(results.device) << ',' << join(row.rank_devices, " ") << ',' << results.ranks << ','
        << csv_field(row.status);
    for (const double number : {row.time_us_p50, row.time_us_min, row.time_us_p99, row.algbw_gbs, row.busbw_gbs,
                                static_cast<double>(row.device.calls), row.device.time_us,
                                row.device.is_span ? 1.0 : 0.0, row.observed_time_us}) {
      out << ',';
      if (row.ok()) out << number;
    }
    out << ',' << csv_field(row.note) << '\n';
  }
  return out.str();
}

}  // namespace tutti::tools

#include <nlohmann/json.hpp>

#include "sinks/tally/tally_tables.hpp"
#include "sinks/tally/tally_text.hpp"

namespace tutti::profiling {
namespace {

using nlohmann::json;

json data_of(const TallyRows& rows) {
  json data;
  for (const auto& [name, sum] : sorted_with_total(rows)) {
    json& row = data[name];
    row = {{"time", sum.total}, {"call", sum.calls}, {"min", sum.min}, {"max", sum.max}};
    if (sum.errors != 0) row["error"] = sum.errors;
  }
  return data;
}

json content_of(const TallyTable& table, bool extended) {
  if (!extended) return {{"data", data_of(merged_rows(table))}};
  json places = json::array();
  for (const auto& [place, rows] : table.places) {
    json entry = {
        {"data", data_of(rows)}, {"Hostname", place.host}, {"Process", place.process}, {"Thread", place.thread}};
    if (table.topic == TallyTopic::device) {
      entry["Device pointer"] = place.device;
      entry["Subdevice pointer"] = place.sub_device;
    }
    places.push_back(std::move(entry));
  }
  return places;
}

}  // namespace

std::string tally_json(const Profile& profile, const TallyOptions& options) {
  json document = {{"units", {{"time", "ns"}, {"size", "bytes"}}}};
  for (const TallyTable& table : tally_tables(profile)) {
    json content = content_of(table, options.extended);
    if (table.topic == TallyTopic::device) {
      document["device"] = std::move(content);
    } else {
      document[table.topic == TallyTopic::host ? "host" : "traffic"][std::to_string(table.level)] = std::move(content);
    }
  }
  // Names come from programs: bytes that are not UTF-8 are replaced.
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace tutti::profiling

#include "results/results_json.hpp"

#include <algorithm>
#include <concepts>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "results/sweep_columns.hpp"
#include "text/json_text.hpp"
#include "text/text.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "tutti-sweep";

Json to_json(const SweepResults& results, const SweepRow& row) {
  Json object = Json::object();
  for (const SweepColumn& column : sweep_columns()) object[column.key] = column.value(results, row);
  return object;
}

Json to_json(const BackendSetup& setup) {
  return {{"backend", setup.backend},     {"version", setup.version},      {"library", setup.library},
          {"launcher", setup.launcher},   {"variables", setup.variables},  {"settings", setup.settings},
          {"hostnames", setup.hostnames}, {"processes", setup.processes},  {"threads", setup.threads},
          {"devices", setup.devices},     {"subdevices", setup.subdevices}};
}

Json to_json(const SweepHead& head) {
  return {{"tutti", head.tutti},
          {"begun", head.begun},
          {"hostname", head.hostname},
          {"cpu", head.cpu},
          {"cores", head.cores},
          {"kernels", head.kernels},
          {"memory_bytes", head.memory_bytes},
          {"settings", head.settings}};
}

/// An object of the file, with its place in it for errors. A key that is absent keeps the value that was there.
class Reader {
 public:
  Reader(const Json& object, std::string place) : object_(object), place_(std::move(place)) {
    if (!object.is_object()) fail("is not an object");
  }

  void read(const char* key, std::string& value) const {
    if (const Json* found = find(key)) value = text_of(*found, key);
  }

  void read(const char* key, bool& value) const {
    const Json* found = find(key);
    if (found == nullptr) return;
    if (!found->is_boolean()) fail_key(key, "is not true or false");
    value = found->get<bool>();
  }

  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) void read(const char* key, Integer& value) const {
    const Json* found = find(key);
    if (found == nullptr) return;
    if (!found->is_number_unsigned() ||
        found->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<Integer>::max()))
      fail_key(key, "is not a whole number in range");
    value = static_cast<Integer>(found->get<std::uint64_t>());
  }

  void read(const char* key, double& value) const {
    if (const Json* found = find(key)) value = number_of(*found, key);
  }

  void read(const char* key, std::vector<std::string>& values) const {
    for_each(key, [&](const Json& item) { values.push_back(text_of(item, key)); });
  }

  void read(const char* key, std::vector<double>& values) const {
    for_each(key, [&](const Json& item) { values.push_back(number_of(item, key)); });
  }

  void read(const char* key, DataType& type) const {
    read_name(key, "data type", [&](const std::string& word) {
      const auto parsed = parse_data_type(word);
      if (parsed) type = *parsed;
      return parsed.has_value();
    });
  }

  void read(const char* key, OpKind& op) const {
    read_name(key, "operation", [&](const std::string& word) {
      const auto parsed = parse_op_kind(word);
      if (parsed) op = *parsed;
      return parsed.has_value();
    });
  }

  /// Calls `use` with each item of a list; nothing when the key is absent.
  template <typename Use>
  void for_each(const char* key, const Use& use) const {
    const Json* found = find(key);
    if (found == nullptr) return;
    if (!found->is_array()) fail_key(key, "is not a list");
    for (const Json& item : *found) use(item);
  }

  void require(const char* key) const {
    if (find(key) == nullptr) fail_key(key, "is missing");
  }

  /// Null when the key is absent or null.
  [[nodiscard]] const Json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  [[nodiscard]] std::string place_of(const char* key, std::size_t index) const {
    return concat(place_, ": ", key, '[', index, ']');
  }

  [[noreturn]] void fail_key(const char* key, std::string_view problem) const {
    fail(concat('"', key, "\" ", problem));
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorCode::config, concat(place_, ": ", problem));
  }

  [[nodiscard]] std::string text_of(const Json& value, const char* key) const {
    if (!value.is_string()) fail_key(key, "is not a text");
    return value.get<std::string>();
  }

  [[nodiscard]] double number_of(const Json& value, const char* key) const {
    if (!value.is_number() || !(value.get<double>() >= 0)) fail_key(key, "is not a number of 0 or more");
    return value.get<double>();
  }

  template <typename Take>
  void read_name(const char* key, const char* kind, const Take& take) const {
    const Json* found = find(key);
    if (found == nullptr) return;
    if (const std::string word = text_of(*found, key); !take(word))
      fail_key(key, concat("names an unknown ", kind, ", \"", spi::printable(word), '"'));
  }

  const Json& object_;
  std::string place_;
};

std::optional<CellCounts> read_counts(const Reader& reader) {
  if (reader.find("counted_calls") == nullptr) return {};
  CellCounts counts;
  reader.read("counted_calls", counts.calls);
  reader.read("host_calls", counts.host_calls);
  reader.read("host_time_us", counts.host_time_us);
  reader.read("device_calls", counts.device_calls);
  reader.read("device_time_us", counts.device_time_us);
  reader.read("traffic_bytes", counts.traffic_bytes);
  reader.read("traffic_calls", counts.traffic_calls);
  reader.read("alloc_bytes", counts.alloc_bytes);
  reader.read("alloc_calls", counts.alloc_calls);
  reader.read("peak_bytes", counts.peak_bytes);
  return counts;
}

SweepRow read_row(const Reader& reader, int version) {
  for (const char* key : {"op", "bytes", "backend", "ranks", "status"}) reader.require(key);
  SweepRow row;
  reader.read("op", row.cell.op);
  reader.read("bytes", row.bytes);
  row.cell.bytes = row.bytes;
  reader.read("requested_bytes", row.cell.bytes);
  reader.read("in_place", row.cell.in_place);
  reader.read("dtype", row.type);
  reader.read("backend", row.backend);
  reader.read("rank_devices", row.rank_devices);
  reader.read("ranks", row.ranks);
  if (row.ranks < 1) reader.fail_key("ranks", "is less than 1");
  reader.read("status", row.status);
  if (row.ok()) {
    reader.require("time_us_p50");
    if (*reader.find("time_us_p50") == 0) reader.fail_key("time_us_p50", "is 0");
  }
  reader.read("time_us_p50", row.time_us_p50);
  reader.read("time_us_min", row.time_us_min);
  reader.read("time_us_p99", row.time_us_p99);
  reader.read("algbw_gbs", row.algbw_gbs);
  reader.read("busbw_gbs", row.busbw_gbs);
  reader.read("run_medians_us", row.run_medians_us);
  reader.read("rank_time_us", row.rank_time_us);
  reader.read("run_steps_us", row.run_steps_us);
  reader.read("run_computes_us", row.run_computes_us);
  reader.read(version == 1 ? "device_calls" : "observed_device_calls", row.device.calls);
  reader.read(version == 1 ? "device_time_us" : "observed_device_time_us", row.device.time_us);
  reader.read("device_time_is_span", row.device.is_span);
  reader.read("observed_time_us", row.observed_time_us);
  if (version > 1) row.counts = read_counts(reader);
  reader.read("served_by", row.served_by);
  reader.read("emulated", row.emulated);
  reader.read("staged", row.is_staged);
  reader.read("note", row.note);
  return row;
}

BackendSetup read_setup(const Reader& reader) {
  BackendSetup setup;
  reader.require("backend");
  reader.read("backend", setup.backend);
  reader.read("version", setup.version);
  reader.read("library", setup.library);
  reader.read("launcher", setup.launcher);
  reader.read("variables", setup.variables);
  reader.read("settings", setup.settings);
  reader.read("hostnames", setup.hostnames);
  reader.read("processes", setup.processes);
  reader.read("threads", setup.threads);
  reader.read("devices", setup.devices);
  reader.read("subdevices", setup.subdevices);
  return setup;
}

SweepHead read_head(const Reader& reader) {
  SweepHead head;
  reader.read("tutti", head.tutti);
  reader.read("begun", head.begun);
  reader.read("hostname", head.hostname);
  reader.read("cpu", head.cpu);
  reader.read("cores", head.cores);
  reader.read("kernels", head.kernels);
  reader.read("memory_bytes", head.memory_bytes);
  reader.read("settings", head.settings);
  return head;
}

/// 1 for the files of the first version, which name neither schema nor version.
int read_version(const Reader& reader, std::string_view where) {
  if (reader.find("schema") == nullptr) return 1;
  std::string schema;
  reader.read("schema", schema);
  if (schema != kSchema)
    throw Error(ErrorCode::config, concat(where, ": schema is \"", spi::printable(schema), "\", not \"", kSchema, '"'));
  int version = 0;
  reader.require("version");
  reader.read("version", version);
  if (version > kResultsVersion) {
    throw Error(ErrorCode::config, concat(where, ": results of version ", version, ", this tutti reads versions up to ",
                                          kResultsVersion, "; read them with the tutti that wrote them"));
  }
  return version;
}

}  // namespace

std::string to_json(const SweepResults& results) {
  Json document = {{"schema", kSchema},         {"version", kResultsVersion},  {"head", to_json(results.head)},
                   {"device", results.device},  {"dtype", name(results.type)}, {"ranks", results.ranks},
                   {"ops", Json::array()},      {"sizes", results.sizes},      {"backends", Json::array()},
                   {"unusable", Json::array()}, {"rows", Json::array()}};
  for (const OpKind op : results.ops) document["ops"].push_back(name(op));
  for (const BackendSetup& setup : results.backends) document["backends"].push_back(to_json(setup));
  for (const UnusableBackend& backend : results.unusable)
    document["unusable"].push_back({{"backend", backend.name}, {"reason", backend.reason}});
  for (const SweepRow& row : results.rows) document["rows"].push_back(to_json(results, row));
  return to_text(document);
}

SweepResults results_from_json(std::string_view text, std::string_view where) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) {
    throw Error(ErrorCode::config,
                concat(where, ": not JSON, or cut off; a results file is written by tutti sweep --json"));
  }
  const Reader reader(document, std::string(where));
  const int version = read_version(reader, where);
  reader.require("rows");
  SweepResults results;
  if (const Json* head = reader.find("head")) results.head = read_head(Reader(*head, concat(where, ": head")));
  results.machine = concat(results.head.cpu, ", ", results.head.cores, results.head.cores == 1 ? " core, " : " cores, ",
                           results.head.kernels);
  reader.read("device", results.device);
  reader.read("dtype", results.type);
  reader.read("ranks", results.ranks);
  reader.for_each("sizes", [&](const Json& size) {
    if (!size.is_number_unsigned()) reader.fail_key("sizes", "has an entry that is not a whole number");
    results.sizes.push_back(size.get<std::uint64_t>());
  });
  std::size_t index = 0;
  reader.for_each("backends", [&](const Json& setup) {
    results.backends.push_back(read_setup(Reader(setup, reader.place_of("backends", index++))));
  });
  index = 0;
  reader.for_each("unusable", [&](const Json& entry) {
    const Reader item(entry, reader.place_of("unusable", index++));
    UnusableBackend& backend = results.unusable.emplace_back();
    item.read("backend", backend.name);
    item.read("reason", backend.reason);
  });
  index = 0;
  reader.for_each("rows", [&](const Json& row) {
    const Reader item(row, reader.place_of("rows", index++));
    if (version == 1 && results.rows.empty()) item.read("device", results.device);
    results.rows.push_back(read_row(item, version));
    if (const OpKind op = results.rows.back().cell.op; std::ranges::find(results.ops, op) == results.ops.end())
      results.ops.push_back(op);
  });
  return results;
}

SweepResults read_results(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file)
    throw Error(ErrorCode::system, concat(path, ": cannot be read; give a file that tutti sweep --json wrote"));
  return results_from_json(text, path);
}

}  // namespace tutti::tools

#include "tutti/info.hpp"

#include <unistd.h>

#include <string>
#include <vector>

#include "command.hpp"
#include "json_writer.hpp"
#include "launch_target.hpp"
#include "machine.hpp"
#include "options.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "tutti/config.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::tools {
namespace {

std::string label(const BackendInfo& backend) {
  return backend.variant.empty() ? backend.name : backend.name + "." + backend.variant;
}

// The launchers whose jobs this backend can serve.
std::vector<std::string> launchers_of(const BackendInfo& backend, const std::vector<LaunchTarget>& targets) {
  std::vector<std::string> names;
  for (const LaunchTarget& target : targets) {
    const bool same = target.backend() == backend.name && target.module_variant() == backend.variant;
    if (same && target.usable) names.push_back(target.name);
  }
  return names;
}

std::string_view support(const BackendInfo& backend, OpKind kind) {
  if (backend.capabilities.has(kind)) return "native";
  return can_emulate(kind, backend.capabilities) ? "emulated" : "-";
}

// "all", "moves and 9 of 11 reductions", "moves only", "-"
std::string support(const BackendInfo& backend, DataType type) {
  int defined = 0;
  int native = 0;
  for (const Reduction reduction : kReductions) {
    if (!is_defined(reduction, type)) continue;
    ++defined;
    native += backend.capabilities.has(reduction, type) ? 1 : 0;
  }
  if (!backend.capabilities.has(type) && native == 0) return "-";
  if (native == defined) return "native";
  if (native == 0) return "moves only";
  return concat(native, " of ", defined, " reductions");
}

class Report {
 public:
  Report() : terminal_(STDOUT_FILENO) {}

  void heading(std::string_view title, std::string_view remark = {}) {
    text_ += concat(text_.empty() ? "" : "\n", terminal_.bold(title));
    if (!remark.empty()) text_ += terminal_.dim(concat("  ", remark));
    text_ += "\n\n";
  }
  void add(const Table& table) { text_ += table.render(terminal_, terminal_.columns()); }
  void line(std::string_view text) { text_ += concat(text, '\n'); }
  [[nodiscard]] bool print() const { return write_all(STDOUT_FILENO, text_); }

 private:
  Terminal terminal_;
  std::string text_;
};

void report_backends(Report& report, const std::vector<BackendInfo>& all, const std::vector<LaunchTarget>& targets) {
  report.heading("Backends");
  Table table({{"backend"}, {"usable"}, {"version"}, {"what"}});
  for (const BackendInfo& backend : all) {
    // Some are only usable in a job that their own launcher has started.
    const std::vector<std::string> launchers = launchers_of(backend, targets);
    const std::string usable = backend.usable ? "yes" : launchers.empty() ? "no" : "when launched";
    table.add({label(backend), usable, backend.version.empty() ? "-" : backend.version, backend.description});
    if (!backend.usable && !launchers.empty()) table.add({"", "", "", "launched by " + join(launchers, ", ")});
    if (!backend.reason.empty() && backend.reason != backend.description) table.add({"", "", "", backend.reason});
    if (backend.location != "built in") table.add({"", "", "", backend.location});
  }
  report.add(table);
}

void report_capabilities(Report& report, const std::vector<BackendInfo>& all) {
  std::vector<Table::Column> columns = {{"operation"}};
  std::vector<Table::Column> type_columns = {{"type"}};
  for (const BackendInfo& backend : all) {
    columns.push_back({label(backend)});
    type_columns.push_back({label(backend)});
  }
  report.heading("Operations", "native: the backend's own; emulated: built by tutti from others; -: not there");
  Table operations(columns);
  for (const OpTraits& row : kOpTraits) {
    std::vector<std::string> cells = {std::string(row.name)};
    for (const BackendInfo& backend : all) cells.emplace_back(support(backend, row.kind));
    operations.add(std::move(cells));
  }
  report.add(operations);
  report.heading("Types", "native: moved and combined by all reductions");
  Table types(type_columns);
  for (const DataType type : kDataTypes) {
    std::vector<std::string> cells = {std::string(name(type))};
    for (const BackendInfo& backend : all) cells.push_back(support(backend, type));
    types.add(std::move(cells));
  }
  report.add(types);
}

void report_launchers(Report& report, const std::vector<LaunchTarget>& targets) {
  report.heading("Launchers", "for tutti run --backend and tutti sweep --backends");
  Table table({{"name"}, {"usable"}, {"version"}, {"launcher"}});
  for (const LaunchTarget& target : targets) {
    const bool native = target.kind == LauncherKind::native;
    table.add({target.name, target.usable ? "yes" : "no",
               native                   ? std::string(version())
               : target.version.empty() ? "-"
                                        : target.version,
               native ? "tutti run" : (target.usable ? target.launcher : target.reason)});
  }
  report.add(table);
}

void report_devices(Report& report, const MachineInfo& machine) {
  report.heading("Devices");
  Table table({{""}, {""}, {""}});
  table.add({"host", "CPU", machine.cpu});
  const std::string limited = machine.cores < machine.cores_online ? concat(" of ", machine.cores_online) : "";
  table.add({"", "cores",
             concat(machine.cores, limited, " hardware threads, ", machine.numa_nodes, " NUMA node",
                    machine.numa_nodes == 1 ? "" : "s")});
  std::vector<std::string> caches;
  for (const CacheInfo& cache : machine.caches) {
    caches.push_back(concat(cache.name, " ", format_bytes(cache.bytes),
                            cache.shared_by > 1 ? concat(" shared by ", cache.shared_by) : ""));
  }
  table.add({"", "caches", caches.empty() ? "unknown" : join(caches, ", ")});
  table.add({"", "memory",
             concat(format_bytes_rounded(machine.memory_bytes), ", ", format_bytes_rounded(machine.available_bytes),
                    " available")});
  table.add({"", "SIMD", std::string(spi::kernel_target())});
  report.add(table);
}

void report_config(Report& report, const Config& config) {
  report.heading("Settings");
  Table table({{"variable"}, {"value"}, {"from"}, {"meaning"}});
  for (const Setting& setting : Config::settings()) {
    const std::string value = config.shown(setting.name);
    std::string meaning(setting.help);
    if (!setting.choices.empty()) meaning += concat(" One of ", setting.choices, ".");
    table.add(
        {std::string(setting.name), value.empty() ? "-" : value, std::string(config.source(setting.name)), meaning});
  }
  report.add(table);
  for (const std::string& variable : Config::unknown_variables()) {
    report.line(concat("\nwarning: ", variable, " is set but is no setting of tutti; is it misspelt?"));
  }
}

void write_backends(JsonWriter& json, const std::vector<BackendInfo>& all, const std::vector<LaunchTarget>& targets) {
  json.key("backends").begin_array();
  for (const BackendInfo& backend : all) {
    json.begin_object().key("name").value(backend.name).key("variant").value(backend.variant);
    json.key("description").value(backend.description).key("location").value(backend.location);
    json.key("usable").value(backend.usable).key("reason").value(backend.reason).key("version").value(backend.version);
    json.key("launchers").begin_array();
    for (const std::string& launcher : launchers_of(backend, targets)) json.value(launcher);
    json.end_array().key("operations").begin_object();
    for (const OpTraits& row : kOpTraits) json.key(row.name).value(support(backend, row.kind));
    json.end_object().key("types").begin_object();
    for (const DataType type : kDataTypes) {
      json.key(name(type))
          .begin_object()
          .key("moves")
          .value(backend.capabilities.has(type))
          .key("reductions")
          .begin_array();
      for (const Reduction reduction : kReductions) {
        if (backend.capabilities.has(reduction, type)) json.value(name(reduction));
      }
      json.end_array().end_object();
    }
    json.end_object().end_object();
  }
  json.end_array();
}

void write_launchers(JsonWriter& json, const std::vector<LaunchTarget>& targets) {
  json.key("launchers").begin_array();
  for (const LaunchTarget& target : targets) {
    json.begin_object().key("name").value(target.name).key("usable").value(target.usable);
    json.key("reason").value(target.reason).key("launcher").value(target.launcher);
    json.key("version").value(target.version).end_object();
  }
  json.end_array();
}

void write_devices(JsonWriter& json, const MachineInfo& machine) {
  json.key("devices").begin_array().begin_object().key("name").value("host").key("cpu").value(machine.cpu);
  json.key("cores").value(machine.cores).key("numa_nodes").value(machine.numa_nodes);
  json.key("caches").begin_array();
  for (const CacheInfo& cache : machine.caches) {
    json.begin_object().key("name").value(cache.name).key("bytes").value(cache.bytes);
    json.key("shared_by").value(cache.shared_by).end_object();
  }
  json.end_array()
      .key("memory_bytes")
      .value(machine.memory_bytes)
      .key("available_bytes")
      .value(machine.available_bytes);
  json.key("simd").value(spi::kernel_target()).end_object().end_array();
}

void write_config(JsonWriter& json, const Config& config) {
  json.key("settings").begin_array();
  for (const Setting& setting : Config::settings()) {
    json.begin_object().key("name").value(setting.name).key("value").value(config.shown(setting.name));
    json.key("source").value(config.source(setting.name)).key("default").value(setting.default_value);
    json.key("help").value(setting.help).end_object();
  }
  json.end_array().key("unknown_variables").begin_array();
  for (const std::string& variable : Config::unknown_variables()) json.value(variable);
  json.end_array();
}

}  // namespace

int info_command(Arguments arguments) {
  bool as_json = false;
  bool with_config = false;
  OptionParser parser("tutti info [options]",
                      "Shows what tutti finds on this machine: backends and what they can do, launchers, devices.");
  parser.flag("--config", "Show every setting instead: its value, where that came from and what it means.", with_config)
      .flag("--json", "Write JSON; with --config the settings are added.", as_json)
      .epilog("Examples:\n  tutti info\n  tutti info --json | jq '.backends[] | select(.usable) | .name'\n");
  const auto rest = parser.parse(arguments);
  if (!rest) return write_all(STDOUT_FILENO, parser.help(Terminal(STDOUT_FILENO).columns())) ? 0 : kExitFailure;
  if (!rest->empty()) throw UsageError(concat("info: unexpected argument \"", rest->front(), '"'));

  const Config config;
  const std::vector<BackendInfo> all = backends(config);  // also for --config: the modules bring settings of their own
  const std::vector<LaunchTarget> targets = as_json || !with_config ? launch_targets() : std::vector<LaunchTarget>();
  if (as_json) {
    JsonWriter json;
    json.begin_object().key("version").value(version());
    write_backends(json, all, targets);
    write_launchers(json, targets);
    write_devices(json, this_machine());
    if (with_config) write_config(json, config);
    json.end_object();
    return write_all(STDOUT_FILENO, json.text()) ? 0 : kExitFailure;
  }
  Report report;
  if (with_config) {
    report_config(report, config);
  } else {
    report.line(concat("tutti ", version()));
    report_backends(report, all, targets);
    report_capabilities(report, all);
    report_launchers(report, targets);
    report_devices(report, this_machine());
  }
  return report.print() ? 0 : kExitFailure;
}

}  // namespace tutti::tools

#include "tutti/info.hpp"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "info/native_ways.hpp"
#include "launch/launch_target.hpp"
#include "machine.hpp"
#include "setting_rows.hpp"
#include "text/json_text.hpp"
#include "text/report.hpp"
#include "text/table.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "tutti/config.hpp"
#include "tutti/info/device_info.hpp"
#include "tutti/info/native_info.hpp"
#include "tutti/spi/kernels.hpp"
#include "tutti/tuning.hpp"

namespace tutti::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string label(const BackendInfo& backend) {
  return backend.variant.empty() ? backend.name : backend.name + "." + backend.variant;
}

// Usable targets of this backend.
std::vector<std::string> launchers_of(const BackendInfo& backend, const std::vector<LaunchTarget>& targets) {
  std::vector<std::string> names;
  for (const LaunchTarget& target : targets) {
    if (target.module != nullptr && target.module == backend.module && target.usable) names.push_back(target.spec);
  }
  return names;
}

std::string_view support(const BackendInfo& backend, OpKind kind) {
  if (backend.capabilities.builds(kind)) return "built";
  if (backend.capabilities.has(kind)) return "native";
  return can_emulate(kind, backend.capabilities) ? "emulated" : "-";
}

// "native", "9 of 11 reductions", "moves only" or "-"
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

void report_backends(Report& report, const std::vector<BackendInfo>& all, const std::vector<LaunchTarget>& targets) {
  report.heading("Backends");
  Table table({{"backend"}, {"usable"}, {"version"}, {"description"}});
  for (const BackendInfo& backend : all) {
    // A backend may be usable only in a job that its own launcher has started.
    const std::vector<std::string> launchers = launchers_of(backend, targets);
    const std::string usable = backend.usable ? "yes" : launchers.empty() ? "no" : "in a job";
    table.add({label(backend), usable, backend.version.empty() ? "-" : backend.version, backend.description});
    if (!backend.usable && !launchers.empty())
      table.add({"", "", "", "start with tutti run --backend " + join(launchers, " or ")});
    if (!backend.reason.empty() && backend.reason != backend.description) table.add({"", "", "", backend.reason});
    if (backend.location != "built in") table.add({"", "", "", backend.location});
  }
  report.add(table);
}

void report_capabilities(Report& report, const std::vector<BackendInfo>& all) {
  std::vector<MatrixColumn> operations = {{"operation", {}}};
  std::vector<MatrixColumn> types = {{"type", {}}};
  for (const OpTraits& row : kOpTraits) operations[0].cells.emplace_back(row.name);
  for (const DataType type : kDataTypes) types[0].cells.emplace_back(name(type));
  for (const BackendInfo& backend : all) {
    operations.push_back({label(backend), {}});
    types.push_back({label(backend), {}});
    for (const OpTraits& row : kOpTraits) operations.back().cells.emplace_back(support(backend, row.kind));
    for (const DataType type : kDataTypes) types.back().cells.push_back(support(backend, type));
  }
  report.heading(
      "Operations",
      "native: provided by the backend's library; built: composed by the backend from other operations of the "
      "library; emulated: composed by tutti from other operations of the backend; -: unsupported");
  report.matrix(operations);
  report.heading("Types", "native: moved and reduced by every reduction; moves only: no reduction; -: unsupported");
  report.matrix(types);
}

void report_launchers(Report& report, const std::vector<LaunchTarget>& targets) {
  report.heading("Launchers", "backends for tutti run --backend, tutti sweep --backends and TUTTI_BACKEND");
  Table table({{"backend"}, {"usable"}, {"version"}, {"launcher"}});
  for (const LaunchTarget& target : targets) {
    const std::string launcher = target.launcher == nullptr ? "tutti run" : target.path;
    table.add({target.shown(), target.usable ? "yes" : "no", target.version.empty() ? "-" : target.version,
               target.usable ? launcher : target.reason});
  }
  report.add(table);
}

/// "NAME, 4 units, 23.5 GiB, 2 sub-devices"
std::string device_text(const DeviceInfo& device) {
  std::vector<std::string> facts = {device.name};
  if (device.compute_units > 0)
    facts.push_back(concat(device.compute_units, device.compute_units == 1 ? " unit" : " units"));
  if (device.memory_bytes > 0) facts.push_back(format_bytes_rounded(device.memory_bytes));
  if (!device.address.empty()) facts.push_back(device.address);
  if (device.sub_devices > 0) facts.push_back(concat(device.sub_devices, " sub-devices"));
  if (device.is_fake) facts.emplace_back("fake");
  return join(facts, ", ");
}

void report_device_modules(Report& report, const std::vector<DeviceModuleInfo>& modules) {
  Table table({{"module"}, {"usable"}, {"version"}, {"devices"}});
  for (const DeviceModuleInfo& module : modules) {
    if (module.name == "host") continue;
    if (!module.usable || module.devices.empty()) {
      table.add(
          {module.name, module.usable ? "yes" : "no", module.version.empty() ? "-" : module.version, module.reason});
      continue;
    }
    bool first = true;
    for (const DeviceInfo& device : module.devices) {
      table.add({first ? module.name : "", first ? "yes" : "", first ? module.version : "",
                 concat(device.device.name(), "  ", device_text(device))});
      first = false;
    }
  }
  if (modules.size() > 1) report.add(table);
}

void report_observers(Report& report, const std::vector<ObserverInfo>& observers) {
  if (observers.empty()) return;
  report.heading("Observer modules", "named in TUTTI_OBSERVERS; those that are not usable are passed over");
  Table table({{"module"}, {"usable"}, {"description"}});
  for (const ObserverInfo& observer : observers) {
    table.add(
        {observer.name, observer.usable ? "yes" : "no", observer.usable ? observer.description : observer.reason});
    if (!observer.location.empty()) table.add({"", "", observer.location});
  }
  report.add(table);
}

void report_tuning(Report& report, const Config& config) {
  const LoadedTuning tuning = load_tuning(config);
  if (!tuning.notice.empty()) report.line(tuning.notice);
  if (tuning.table) {
    report.line(concat("auto chooses by the tuning file ", tuning.path, ", ", tuning.table->rows.size(), " rows"));
    for (const TunedEngine& engine : tuning.table->engines) {
      report.line(concat("It has tuned values of ", engine.spec, " for ", engine.ranks,
                         engine.ranks == 1 ? " rank" : " ranks"));
    }
  } else {
    report.line("auto chooses by its rules; tutti tune makes a tuning file");
  }
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

// A longer value, such as a path, would leave no room for the meaning; it gets its own line below.
constexpr std::size_t kWidestValue = 16;

void add_row(const SettingRow& row, Table& table) {
  const std::string choices = row.choices.empty() ? "" : concat(" One of ", row.choices, ".");
  const bool wide = row.value.size() > kWidestValue;
  table.add({row.name, row.value.empty() ? "-" : wide ? "..." : row.value, row.source, row.help + choices});
  if (wide) table.add({"", "", "", "= " + row.value});
}

void report_config(Report& report, const Config& config) {
  report.heading("Settings");
  Table table({{"variable"}, {"value"}, {"source"}, {"meaning"}});
  for (const SettingRow& row : all_settings(config)) add_row(row, table);
  report.add(table);
  for (const auto& [backend, rows] : foreign_settings()) {
    report.heading(concat("Variables of other products that ", backend, " reads"));
    Table theirs({{"variable"}, {"value"}, {"source"}, {"meaning"}});
    for (const SettingRow& row : rows) add_row(row, theirs);
    report.add(theirs);
  }
  for (const std::string& variable : unknown_variables()) {
    report.line(concat("\nwarning: ", variable,
                       " is set in the environment, but tutti has no such setting; check the spelling"));
  }
}

Json to_json(const BackendInfo& backend, const std::vector<LaunchTarget>& targets) {
  Json operations = Json::object();
  for (const OpTraits& row : kOpTraits) operations[std::string(row.name)] = support(backend, row.kind);
  Json types = Json::object();
  for (const DataType type : kDataTypes) {
    Json reductions = Json::array();
    for (const Reduction reduction : kReductions) {
      if (backend.capabilities.has(reduction, type)) reductions.push_back(name(reduction));
    }
    types[std::string(name(type))] = {{"moves", backend.capabilities.has(type)}, {"reductions", std::move(reductions)}};
  }
  return {{"name", backend.name},
          {"variant", backend.variant},
          {"description", backend.description},
          {"location", backend.location},
          {"usable", backend.usable},
          {"reason", backend.reason},
          {"version", backend.version},
          {"launchers", launchers_of(backend, targets)},
          {"operations", std::move(operations)},
          {"types", std::move(types)}};
}

Json to_json(const ObserverInfo& observer) {
  return {{"name", observer.name},
          {"description", observer.description},
          {"usable", observer.usable},
          {"reason", observer.reason},
          {"location", observer.location}};
}

Json to_json(const LaunchTarget& target) {
  return {{"name", target.spec},     {"stands_on_others", target.is_open()},
          {"usable", target.usable}, {"reason", target.reason},
          {"launcher", target.path}, {"version", target.version}};
}

Json to_json(const MachineInfo& machine) {
  Json caches = Json::array();
  for (const CacheInfo& cache : machine.caches) {
    caches.push_back({{"name", cache.name}, {"bytes", cache.bytes}, {"shared_by", cache.shared_by}});
  }
  return {{"name", "host"},
          {"cpu", machine.cpu},
          {"cores", machine.cores},
          {"numa_nodes", machine.numa_nodes},
          {"caches", std::move(caches)},
          {"memory_bytes", machine.memory_bytes},
          {"available_bytes", machine.available_bytes},
          {"simd", spi::kernel_target()}};
}

Json to_json(const SettingRow& row) {
  return {{"name", row.name},
          {"value", row.value},
          {"source", row.source},
          {"default", row.default_value},
          {"help", row.help}};
}

Json to_json(const DeviceModuleInfo& module) {
  Json devices = Json::array();
  for (const DeviceInfo& device : module.devices) {
    devices.push_back({{"device", device.device.name()},
                       {"name", device.name},
                       {"vendor", device.vendor},
                       {"driver", device.driver},
                       {"address", device.address},
                       {"memory_bytes", device.memory_bytes},
                       {"compute_units", device.compute_units},
                       {"numa_node", device.numa_node},
                       {"sub_devices", device.sub_devices},
                       {"gpu", device.is_gpu},
                       {"fake", device.is_fake}});
  }
  return {{"name", module.name},          {"description", module.description}, {"usable", module.usable},
          {"reason", module.reason},      {"version", module.version},         {"location", module.location},
          {"devices", std::move(devices)}};
}

Json document(const std::vector<BackendInfo>& all, const std::vector<LaunchTarget>& targets,
              const std::vector<DeviceModuleInfo>& devices) {
  Json json = {{"version", version()}, {"backends", Json::array()}, {"launchers", Json::array()}};
  for (const BackendInfo& backend : all) json["backends"].push_back(to_json(backend, targets));
  for (const LaunchTarget& target : targets) json["launchers"].push_back(to_json(target));
  json["devices"] = Json::array({to_json(this_machine())});
  json["device_modules"] = Json::array();
  for (const DeviceModuleInfo& module : devices) json["device_modules"].push_back(to_json(module));
  return json;
}

struct InfoOptions {
  bool as_json = false;
  bool with_config = false;
  bool native = false;
  int ranks = 2;  ///< for which the ways of the native engine are shown
};

int show_native(const InfoOptions& options) {
  const NativeInfo info = native_info(options.ranks);
  if (options.as_json) {
    write_result(to_text(Json{{"native", native_json(info)}}));
    return 0;
  }
  const Terminal terminal(STDOUT_FILENO);
  Report report(terminal, terminal.columns());
  report_native(report, info);
  write_result(report.text());
  return 0;
}

int show_info(const InfoOptions& options) {
  const Config config;
  // List the devices first: a backend's library may start a device runtime in a way that hides devices.
  const std::vector<DeviceModuleInfo> devices = device_modules(config);
  const std::vector<BackendInfo> all = backends(config);  // also for --config: loading a module adds its settings
  if (options.as_json) {
    Json json = document(all, launch_targets(), devices);
    if (options.with_config) {
      json["settings"] = Json::array();
      for (const SettingRow& row : all_settings(config)) json["settings"].push_back(to_json(row));
      for (const auto& [backend, rows] : foreign_settings()) {
        for (const SettingRow& row : rows) json["settings"].push_back(to_json(row));
      }
      json["unknown_variables"] = unknown_variables();
    }
    json["observer_modules"] = Json::array();
    for (const ObserverInfo& observer : observer_modules(config)) json["observer_modules"].push_back(to_json(observer));
    write_result(to_text(json));
    return 0;
  }
  const Terminal terminal(STDOUT_FILENO);
  Report report(terminal, terminal.columns());
  if (options.with_config) {
    report_config(report, config);
  } else {
    const std::vector<LaunchTarget> targets = launch_targets();
    report.line(concat("tutti ", version()));
    report_tuning(report, config);
    report_backends(report, all, targets);
    report_capabilities(report, all);
    report_launchers(report, targets);
    report_observers(report, observer_modules(config));
    report_devices(report, this_machine());
    report_device_modules(report, devices);
  }
  write_result(report.text());
  return 0;
}

}  // namespace

void add_info_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_command(
      tutti, {.name = "info",
              .summary = "Show backends, launchers, devices and settings.",
              .usage = "tutti info [options]",
              .description =
                  "Lists the backends with their operations and data types, the launchers and the devices that tutti "
                  "finds on this machine.",
              .footer = "Examples:\n"
                        "  tutti info             all backends, launchers and devices\n"
                        "  tutti info --config    all settings\n"
                        "  tutti info --native    how the native engine carries out which size\n"
                        "  tutti info --json | jq '.backends[] | select(.usable) | .name'\n"});
  const auto options = std::make_shared<InfoOptions>();
  command.add_flag("--config", options->with_config, "Show the settings instead: value, source and meaning of each.");
  command.add_flag("--json", options->as_json, "Write JSON; with --config, including the settings.");
  CLI::Option* const native =
      command.add_flag("--native", options->native,
                       "Show instead how the native engine carries out which size, and the measurements behind it.");
  add_number(command, "--ranks", options->ranks, 2, 1024, "With --native: number of ranks. Default: 2.").needs(native);
  command.callback(
      [&invocation, options] { invocation.exit_code = options->native ? show_native(*options) : show_info(*options); });
}

}  // namespace tutti::tools

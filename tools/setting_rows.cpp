#include "setting_rows.hpp"

#include <algorithm>

#include "launch/launch_target.hpp"
#include "text/text.hpp"
#include "tutti/info.hpp"
#include "tutti/spi/environment.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::tools {
namespace {

// Environment variables that only the command reads; the library does not know them.
std::vector<SettingRow> command_settings() {
  const auto row = [](std::string name, std::string value, std::string default_value, std::string help) {
    const bool chosen = !spi::environment(name).value_or("").empty();
    return SettingRow{std::move(name), std::move(value), chosen ? "environment" : "default", std::move(default_value),
                      std::move(help)};
  };
  std::vector<SettingRow> rows = {
      row("TUTTI_SWEEP_FAULT", spi::environment("TUTTI_SWEEP_FAULT").value_or(""), "",
          "Injects a fault into a cell of tutti sweep, for tests: (crash|exit|hang|wrong)@BYTES:BACKEND.")};
  for (const BackendInfo& backend : unprobed_backends()) {
    if (backend.module == nullptr) continue;
    for (const spi::Launcher& launcher : backend.module->launchers) {
      if (launcher.root_variable.empty()) continue;
      rows.push_back(row(std::string(launcher.root_variable), launcher_root(launcher),
                         std::string(launcher.root_default),
                         concat("Installation folder of ", launcher.title, ", for tutti run and tutti sweep.")));
    }
  }
  return rows;
}

SettingRow row_of(const spi::ForeignVariable& variable) {
  return {variable.name, variable.value, variable.is_set ? "environment" : "default", variable.default_value,
          variable.help + (variable.note.empty() ? "" : " " + variable.note)};
}

}  // namespace

std::vector<SettingRow> all_settings(const Config& config) {
  std::vector<SettingRow> rows = command_settings();
  for (const Setting& setting : Config::settings()) {
    rows.push_back({std::string(setting.name), config.shown(setting.name), std::string(config.source(setting.name)),
                    std::string(setting.default_value), std::string(setting.help), std::string(setting.choices)});
  }
  std::ranges::sort(rows, {}, &SettingRow::name);
  return rows;
}

std::vector<std::string> unknown_variables() {
  std::vector<std::string> unknown = Config::unknown_variables();
  for (const SettingRow& row : command_settings()) std::erase(unknown, row.name);
  // ./tutti sets these even if the module that reads them was not built.
  for (const char* name : {"TUTTI_INTEL_MPI_ROOT", "TUTTI_ONECCL_ROOT"}) std::erase(unknown, name);
  return unknown;
}

std::vector<std::pair<std::string, std::vector<SettingRow>>> foreign_settings() {
  std::vector<std::pair<std::string, std::vector<SettingRow>>> all;
  for (const BackendInfo& backend : unprobed_backends()) {
    if (backend.module == nullptr || backend.module->foreign_variables == nullptr) continue;
    std::vector<SettingRow>& rows = all.emplace_back(backend.name, std::vector<SettingRow>()).second;
    for (const spi::ForeignVariable& variable : backend.module->foreign_variables()) rows.push_back(row_of(variable));
  }
  return all;
}

}  // namespace tutti::tools

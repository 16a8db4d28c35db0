#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tutti/config.hpp"

namespace tutti::tools {

/// A line of `tutti info --config`.
struct SettingRow {
  std::string name;
  std::string value;
  std::string source;
  std::string default_value;
  std::string help;
  std::string choices = {};
};

/// The settings of the library, of loaded modules and of the command, by name.
[[nodiscard]] std::vector<SettingRow> all_settings(const Config& config);

/// Variables of other products that backends read, with the backend's name.
[[nodiscard]] std::vector<std::pair<std::string, std::vector<SettingRow>>> foreign_settings();

/// Variables that begin as tutti's do and are none.
[[nodiscard]] std::vector<std::string> unknown_variables();

}  // namespace tutti::tools

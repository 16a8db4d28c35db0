// The only file that reads the environment.
#include "tutti/config.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "handled_error.hpp"
#include "select/registry.hpp"
#include "settings/settings.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"

namespace tutti {
namespace {

constexpr std::string_view kPrefix = "TUTTI_";

/// Calls visit(name, value) for every variable whose name begins with TUTTI_.
template <typename Visit>
void each_variable(Visit visit) {
  if (environ == nullptr || spi::ignores_environment()) return;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (!text.starts_with(kPrefix) || equals == std::string_view::npos) continue;
    visit(text.substr(0, equals), text.substr(equals + 1));
  }
}

const SettingRow& known(std::string_view name) {
  const SettingRow* row = find_setting(name);
  if (row == nullptr)
    throw Error(ErrorCode::config,
                printable(name) + " is not a setting of tutti; `tutti info --config` lists all settings");
  return *row;
}

void load_modules(const Config& config) {
  (void)Registry::instance().modules(config);
  (void)DeviceRegistry::instance().modules(config);
}

}  // namespace

Config::Config() : Config(Unchecked()) { check(); }

Config::Config(Unchecked) {
  // Also keeps unknown variables: a module that is loaded later may register them as settings.
  const auto keep = [this](std::string_view name, std::string_view value) {
    if (!value.empty()) values_.try_emplace(std::string(name), Value{std::string(value), "environment"});
  };
  throwing_errors_only("Config()", [&] { each_variable(keep); });
}

Config Config::unchecked() { return Config(Unchecked()); }

void Config::check() const {
  throwing_errors_only("Config()", [this] {
    for (const auto& [name, value] : values_) {
      if (const SettingRow* row = find_setting(name)) check_setting(row->setting, value.text);
    }
  });
}

Config Config::without_invalid() const {
  Config sound = *this;
  std::erase_if(sound.values_, [](const auto& entry) {
    const SettingRow* row = find_setting(entry.first);
    try {
      if (row != nullptr) check_setting(row->setting, entry.second.text);
      return false;
    } catch (const Error&) {
      return true;
    }
  });
  return sound;
}

Config& Config::set(std::string_view name, std::string_view value, std::string_view source) {
  if (find_setting(name) == nullptr) load_modules(*this);  // a module may define it
  check_setting(known(name).setting, value);
  values_.insert_or_assign(std::string(name), Value{std::string(value), source});
  return *this;
}

const std::string& Config::text(std::string_view name) const {
  const SettingRow& row = known(name);
  const auto own = values_.find(name);
  if (own == values_.end()) return row.default_text;
  check_setting(row.setting, own->second.text);
  return own->second.text;
}

const std::string& Config::value(std::string_view name, SettingKind kind) const {
  if (known(name).setting.kind != kind) {
    throw Error(ErrorCode::config,
                "setting " + std::string(name) + " is read as another kind of value than it is declared as");
  }
  return text(name);
}

bool Config::flag(std::string_view name) const { return parse_flag(value(name, SettingKind::flag)).value(); }

std::uint64_t Config::integer(std::string_view name) const {
  return parse_integer(value(name, SettingKind::integer)).value();
}

std::uint64_t Config::bytes(std::string_view name) const {
  return parse_bytes(value(name, SettingKind::bytes)).value();
}

std::optional<std::chrono::nanoseconds> Config::duration(std::string_view name) const {
  const std::string& written = value(name, SettingKind::duration);
  if (written.empty()) return std::nullopt;
  const std::chrono::nanoseconds parsed = parse_duration(written).value();
  return parsed.count() == 0 ? std::nullopt : std::optional(parsed);
}

std::string Config::shown(std::string_view name) const {
  const std::string& plain = text(name);
  return known(name).setting.secret && !plain.empty() ? "(set)" : plain;
}

std::string_view Config::source(std::string_view name) const {
  (void)known(name);
  const auto own = values_.find(name);
  return own == values_.end() ? "default" : own->second.source;
}

std::vector<Setting> Config::settings() { return all_settings(); }

std::vector<std::string> Config::unknown_variables() {
  std::vector<std::string> names;
  each_variable([&](std::string_view name, std::string_view) {
    if (find_setting(name) == nullptr) names.emplace_back(name);
  });
  std::sort(names.begin(), names.end());
  return names;
}

namespace spi {

bool ignores_environment() noexcept {
  static const bool is_privileged = getauxval(AT_SECURE) != 0;
  return is_privileged;
}

std::optional<std::string> environment(const std::string& name) {
  if (ignores_environment()) return std::nullopt;
  const char* value =
      std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): written only before a vendor library is opened
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace spi
}  // namespace tutti

#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/export.hpp"

namespace tutti {

/// What values a setting accepts; decides how it is parsed and what the error says.
enum class SettingKind : std::uint8_t {
  text,      ///< anything
  flag,      ///< 0/1, true/false, yes/no, on/off
  integer,   ///< a non-negative number
  bytes,     ///< a number with an optional K, M or G (powers of 1024)
  duration,  ///< a number with an optional ms, s, min or h; seconds without; 0 means none
  choice,    ///< one of the words in Setting::choices
};

/// One row of the table of settings: everything there is to know about a variable.
struct Setting {
  std::string_view name;           ///< as in the environment: "TUTTI_BACKEND"
  std::string_view default_value;  ///< as the user would write it
  SettingKind kind = SettingKind::text;
  std::string_view help;          ///< one sentence
  std::string_view choices = {};  ///< for `choice`: "auto|memfd|shm"
  bool secret = false;            ///< never shown: Config::shown() says "(set)" instead

  friend bool operator==(const Setting&, const Setting&) = default;
};

/// The values of all settings and where each came from. A value object: change a copy and pass it to a communicator.
///
/// Precedence: set() in code, then the environment, then the default. The environment is read when the object is made,
/// never later; that holds for the settings of backend modules too, whenever they are loaded. A variable that is set to
/// nothing counts as not set. Not synchronised; copies are independent.
class TUTTI_API Config {
 public:
  /// Reads the environment. Throws Error{config} naming the variable and the accepted values when one does not parse.
  /// The variables of a module that is not loaded yet are checked when they are first asked for.
  Config();

  /// Overrides a value. Throws Error{config} for an unknown name or a value that does not parse. A name that is not
  /// known yet has all modules loaded, those on this object's TUTTI_MODULE_PATH among them. `source` is what source()
  /// then says, a literal: a program that got the value from its user can say how.
  Config& set(std::string_view name, std::string_view value, std::string_view source = "code");

  /// The value as written. Throws Error{config} for an unknown name, as do all getters; those below also for a setting
  /// of another kind.
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::uint64_t integer(std::string_view name) const;
  [[nodiscard]] std::uint64_t bytes(std::string_view name) const;
  /// Nothing when the value is 0 or empty.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> duration(std::string_view name) const;

  /// The value as it may be printed: that of text(), or "(set)" for a secret.
  [[nodiscard]] std::string shown(std::string_view name) const;

  /// Where the value came from: "default", "environment" or what set() was told.
  [[nodiscard]] std::string_view source(std::string_view name) const;

  /// All rows known to the process, those of loaded backend modules included, in order of name.
  [[nodiscard]] static std::vector<Setting> settings();

  /// Variables in the environment that begin with TUTTI_ but are no setting: most likely misspelt.
  [[nodiscard]] static std::vector<std::string> unknown_variables();

 private:
  struct Value {
    std::string text;
    std::string_view source;
  };
  [[nodiscard]] const std::string& value(std::string_view name, SettingKind kind) const;
  std::map<std::string, Value, std::less<>> values_;
};

/// Parses "64K", "1M", "512" to bytes; nothing when it is not of that form or does not fit 64 bits.
[[nodiscard]] TUTTI_API std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept;

/// Parses "250ms", "5s", "2min", "1.5h", "30" (seconds); nothing when it is not of that form or negative.
[[nodiscard]] TUTTI_API std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) noexcept;

}  // namespace tutti

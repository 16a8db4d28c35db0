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

/// Type of a setting; decides how its value is parsed and which values an error message lists as accepted.
enum class SettingKind : std::uint8_t {
  text,      ///< anything
  flag,      ///< 0/1, true/false, yes/no, on/off
  integer,   ///< a non-negative number
  bytes,     ///< a number with an optional K, M or G (powers of 1024)
  duration,  ///< a number with an optional ms, s (default), min or h; 0 means none
  choice,    ///< one of the words in Setting::choices
};

/// One row of the table of settings: the full description of a variable.
struct Setting {
  std::string_view name;           ///< as in the environment: "TUTTI_BACKEND"
  std::string_view default_value;  ///< as the user would write it
  SettingKind kind = SettingKind::text;
  std::string_view help;          ///< one sentence
  std::string_view choices = {};  ///< for `choice`: "auto|memfd|shm"
  bool secret = false;            ///< never shown: Config::shown() says "(set)" instead
  bool common = false;            ///< all ranks of a communicator must have the same value; checked at creation

  friend bool operator==(const Setting&, const Setting&) = default;
};

/// The values of all settings and the source of each. A value object: change a copy and pass it to a communicator.
///
/// Precedence: set() in code, then the environment, then the default. The environment is read when the object is
/// constructed, never later, even for settings of modules that are loaded later. An empty variable counts as not set.
/// Not synchronised; copies are independent.
class TUTTI_API Config {
 public:
  /// Reads the environment. Throws Error{config} naming the variable and the accepted values if a value does not parse.
  /// Variables of a module that is not loaded yet are checked when they are first read.
  Config();

  /// The same without the check of the values: they are checked when they are read, and when a communicator is made.
  [[nodiscard]] static Config unchecked();
  /// Throws Error{config} for the first value that does not parse.
  void check() const;
  /// A copy in which values that do not parse are missing.
  [[nodiscard]] Config without_invalid() const;

  /// Overrides a value. Throws Error{config} for an unknown name or a value that does not parse. If the name is
  /// unknown, loads all modules first, including those on this object's TUTTI_MODULE_PATH. `source` is a string literal
  /// that source() returns, e.g. the command-line option that set the value.
  Config& set(std::string_view name, std::string_view value, std::string_view source = "code");

  /// The value as written. All getters throw Error{config} for an unknown name; flag(), integer(), bytes() and
  /// duration() also for a setting of another kind.
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::uint64_t integer(std::string_view name) const;
  [[nodiscard]] std::uint64_t bytes(std::string_view name) const;
  /// std::nullopt if the value is 0 or empty.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> duration(std::string_view name) const;

  /// The value in printable form: text(), or "(set)" for a secret.
  [[nodiscard]] std::string shown(std::string_view name) const;

  /// Source of the value: "default", "environment" or the `source` given to set().
  [[nodiscard]] std::string_view source(std::string_view name) const;

  /// All rows known to the process, including those of loaded modules, sorted by name.
  [[nodiscard]] static std::vector<Setting> settings();

  /// Variables in the environment that begin with TUTTI_ but are no setting: most likely misspelt.
  [[nodiscard]] static std::vector<std::string> unknown_variables();

 private:
  struct Value {
    std::string text;
    std::string_view source;
  };
  struct Unchecked {};
  explicit Config(Unchecked);
  [[nodiscard]] const std::string& value(std::string_view name, SettingKind kind) const;
  std::map<std::string, Value, std::less<>> values_;
};

/// Parses "64K", "1M", "512" to bytes; std::nullopt if the text has another form or the value does not fit 64 bits.
[[nodiscard]] TUTTI_API std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept;

/// Parses "250ms", "5s", "2min", "1.5h", "30" (seconds); std::nullopt if the text has another form or the value is
/// negative or too large.
[[nodiscard]] TUTTI_API std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) noexcept;

}  // namespace tutti

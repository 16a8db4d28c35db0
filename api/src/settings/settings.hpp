#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/config.hpp"
#include "tutti/export.hpp"

namespace tutti {

/// Adds rows to the table, e.g. those of a backend module when it is loaded. The rows' text must live as long as the
/// process; modules are never closed, so their literals do. A row that is there already is passed over; one that
/// differs under the same name, or whose default does not parse, is Error{config} and none of the rows is added.
/// Thread-safe.
TUTTI_API void register_settings(std::span<const Setting> rows);

/// A row together with its default as a string, which Config hands out by reference. Never moves, never goes away.
struct SettingRow {
  Setting setting;
  std::string default_text;
};

/// The row of that name, or nullptr. Thread-safe.
[[nodiscard]] const SettingRow* find_setting(std::string_view name);

/// All rows in order of name. Thread-safe.
[[nodiscard]] std::vector<Setting> all_settings();

[[nodiscard]] std::optional<bool> parse_flag(std::string_view text) noexcept;
[[nodiscard]] std::optional<std::uint64_t> parse_integer(std::string_view text) noexcept;

/// Throws Error{config} that names the variable, the value and what is accepted, unless the value parses.
void check_setting(const Setting& setting, std::string_view value);

/// A value as it may stand in a message: of bounded length and without control characters.
[[nodiscard]] std::string printable(std::string_view value);

}  // namespace tutti

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/config.hpp"
#include "tutti/export.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti {

/// Adds rows to the table, e.g. those of a backend module when it is loaded. The rows' text must live as long as the
/// process; modules are never closed, so their literals do. Equal rows that exist already are skipped. Throws
/// Error{config}, and adds no row, if a row of the same name differs or a default does not parse. Thread-safe.
TUTTI_API void register_settings(std::span<const Setting> rows);

/// The rows of the core library.
[[nodiscard]] std::span<const Setting> core_settings() noexcept;

/// A row together with its default as a string, to which Config returns references. Never moved or destroyed.
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

/// Throws Error{config} naming the variable, the value and the accepted values if the value does not parse.
void check_setting(const Setting& setting, std::string_view value);

using spi::printable;

}  // namespace tutti

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tutti::horovod {

/// How upstream reads a variable.
enum class VariableKind : std::uint8_t {
  text,
  flag,     ///< a number; on if it is above 0
  integer,  ///< a whole number of 0 or more
  real,     ///< a number of 0 or more
  choice,   ///< one of the words in HorovodVariable::choices, in any case
};

/// Upstream's variable and its meaning here.
struct HorovodVariable {
  std::string_view name;
  std::string_view default_value;  ///< upstream's
  VariableKind kind = VariableKind::text;
  std::string_view help;               ///< one sentence; the reason if `is_honoured` is false
  std::string_view choices = {};       ///< "a|b"
  bool is_honoured = true;             ///< false: has no effect here
  bool is_secret = false;              ///< the value is not shown
  bool only_on_several_hosts = false;  ///< ignored on one host, as upstream does
};

/// All variables of upstream 0.28 that its engine, its launcher and its bindings read, in order of name, and tutti's
/// own HOROVOD_COMPAT.
[[nodiscard]] std::span<const HorovodVariable> horovod_variables() noexcept;

/// The row of that name, or null.
[[nodiscard]] const HorovodVariable* find_horovod_variable(std::string_view name) noexcept;

/// Throws Error{config} if upstream and its user disagree about the value: "true" for a flag, which upstream reads as
/// off, text behind a number, a number that is too large. With `compatible` the value is taken as upstream reads it.
void check_horovod_value(const HorovodVariable& variable, std::string_view value, bool compatible);

/// Values as upstream reads them; call check_horovod_value() first.
[[nodiscard]] bool read_flag(std::string_view value) noexcept;
[[nodiscard]] std::int64_t read_integer(std::string_view value) noexcept;
[[nodiscard]] double read_real(std::string_view value) noexcept;

}  // namespace tutti::horovod

// Values of settings: flags, integers, sizes, durations, choices and texts.
#include <array>
#include <chrono>

#include "fuzz.hpp"
#include "settings/settings.hpp"
#include "tutti/error.hpp"

namespace tutti::fuzz {

namespace {

constexpr std::array<std::string_view, 22> kSeeds = {"0",
                                                     "1",
                                                     "true",
                                                     "off",
                                                     "64K",
                                                     "1M",
                                                     "18446744073709551615",
                                                     "18446744073709551616",
                                                     "17179869183G",
                                                     "250ms",
                                                     "1.5h",
                                                     "2min",
                                                     "30",
                                                     "5s",
                                                     "0.0000000001s",
                                                     "9223372036.854775807s",
                                                     ".5",
                                                     "1e3",
                                                     "auto",
                                                     "memfd",
                                                     "native,ccl",
                                                     ""};
constexpr std::array<std::string_view, 26> kWords = {"K",   "k",  "M",    "G",   "ms", "s",  "min", "h",       "h ",
                                                     ".",   "..", "-",    "+",   "e",  "0",  "9",   "inf",     "nan",
                                                     "0x1", "on", "TRUE", "yes", "\n", "\0", "|",   "\xc3\xa9"};

constexpr std::array<Setting, 7> kRows = {{
    {"TUTTI_FUZZ_TEXT", "", SettingKind::text, "help"},
    {"TUTTI_FUZZ_FLAG", "0", SettingKind::flag, "help"},
    {"TUTTI_FUZZ_INTEGER", "0", SettingKind::integer, "help"},
    {"TUTTI_FUZZ_BYTES", "0", SettingKind::bytes, "help"},
    {"TUTTI_FUZZ_DURATION", "0", SettingKind::duration, "help"},
    {"TUTTI_FUZZ_CHOICE", "auto", SettingKind::choice, "help", "auto|memfd|shm"},
    {"TUTTI_FUZZ_SECRET", "0", SettingKind::integer, "help", {}, true},
}};

std::string refusal_of(const Setting& row, std::string_view value) {
  try {
    check_setting(row, value);
    return {};
  } catch (const Error& error) {
    require(error.code() == ErrorCode::config, "the error has another code than config");
    require_printable(error.what());
    return error.what();
  }
}

void check_numbers(std::string_view input) {
  if (const auto value = parse_integer(input)) {
    require(parse_integer(std::to_string(*value)) == value, "an integer parses to another value when it is printed");
    require(parse_bytes(input) == value, "an integer is another size");
  }
  if (const auto value = parse_bytes(input)) {
    require(parse_bytes(std::to_string(*value)) == value, "a size parses to another value when it is printed");
  }
  if (const auto value = parse_duration(input)) {
    require(value->count() >= 0, "a duration is negative");
    // Doubles hold milliseconds exactly in this range.
    if (value->count() % 1000000 == 0 && value->count() < (1LL << 52)) {
      require(parse_duration(std::to_string(value->count() / 1000000) + "ms") == value,
              "a duration parses to another value when it is printed");
    }
  }
}

}  // namespace

const Material material = {kSeeds, kWords};

void try_input(std::string_view input) {
  check_numbers(input);
  for (const Setting& row : kRows) {
    const std::string refusal = refusal_of(row, input);
    if (row.kind == SettingKind::text) require(refusal.empty(), "a text is refused");
    if (row.secret && !refusal.empty()) {
      require(refusal.find(std::string(row.name) + "=(set) ") != std::string::npos, "the error shows a secret");
    }
  }
  require(refusal_of(kRows[1], input).empty() == parse_flag(input).has_value(), "a flag is judged in two ways");
  require(refusal_of(kRows[3], input).empty() == parse_bytes(input).has_value(), "a size is judged in two ways");
  // A name from outside.
  expect_value_or<Error>([&] { (void)Config().source(input); });
}

}  // namespace tutti::fuzz

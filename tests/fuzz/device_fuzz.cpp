// Names and lists of devices, as in TUTTI_DEVICE.
#include <array>
#include <cstdlib>

#include "fuzz.hpp"
#include "tutti/device.hpp"
#include "tutti/error.hpp"
#include "tutti/placement.hpp"

namespace tutti::fuzz {

namespace {

// The library searches device modules only once, so the path of the fake must be set before the first input.
const int prepared = setenv("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES, 1);  // NOLINT

constexpr std::array<std::string_view, 10> kSeeds = {
    "host", "auto", "threaded:0", "threaded:1.0", "threaded", "host,threaded:1", "threaded:32767", "none:0", ",", ""};
constexpr std::array<std::string_view, 16> kWords = {"host", "auto", "threaded", "threaded:", ":", ".",
                                                     ",",    "0",    "1",        "-1",        " ", "32768",
                                                     "\n",   "\xff", "\x1b",     "\xc3\xa9"};

bool is_expected(ErrorCode code) {
  return code == ErrorCode::config || code == ErrorCode::invalid_argument || code == ErrorCode::backend_unavailable;
}

template <typename Parse>
void expect_value_or_refusal(Parse parse) {
  try {
    parse();
  } catch (const Error& error) {
    require(is_expected(error.code()), "the error has an unexpected code");
    require_printable(error.what());
  }
}

}  // namespace

const Material material = {kSeeds, kWords};

void try_input(std::string_view input) {
  expect_value_or_refusal([&] {
    const Device device = Device::parse(input);
    require(Device::parse(device.name()) == device, "a device parses to another one when it is printed");
  });
  static const Config environment;
  expect_value_or_refusal([&] {
    const std::array<int, 3> nodes = {0, -1, 1};
    const auto placed = placements(nodes, {}, Config(environment).set("TUTTI_DEVICE", input));
    require(placed.size() == nodes.size(), "a rank has no place");
    for (const Placement& placement : placed) require_printable(placement.reason);
  });
}

}  // namespace tutti::fuzz

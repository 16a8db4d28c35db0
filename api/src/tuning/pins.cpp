#include "tuning/pins.hpp"

#include <algorithm>

#include "settings/settings.hpp"
#include "tutti/backend_spec.hpp"
#include "tutti/error.hpp"

namespace tutti {
namespace {

[[noreturn]] void refuse(std::string_view pin, const std::string& fault) {
  throw Error(ErrorCode::config, "TUTTI_PIN has '" + printable(pin) + "', in which " + fault +
                                     "; accepted: OPERATION[:SIZE|:FROM-|:FROM-TO]=BACKEND, separated by commas, e.g. "
                                     "allreduce:1M-8M=ccl,allgather=native");
}

std::uint64_t size_in(std::string_view pin, std::string_view word) {
  const auto bytes = parse_bytes(word);
  if (!bytes) refuse(pin, "'" + printable(word) + "' is no size");
  return *bytes;
}

Pin parse_pin(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) refuse(text, "'=BACKEND' is missing");
  const std::string_view what = text.substr(0, equals);
  const std::string_view op = what.substr(0, what.find(':'));
  const auto kind = parse_op_kind(op);
  if (!kind || is_message(*kind)) refuse(text, "'" + printable(op) + "' is no collective operation");
  Pin pin{.op = *kind, .spec = {}, .text = std::string(text)};
  if (op.size() < what.size()) {
    const std::string_view range = what.substr(op.size() + 1);
    const std::size_t dash = range.find('-');
    pin.from = size_in(text, range.substr(0, dash));
    if (dash == std::string_view::npos) {
      pin.to = pin.from;
    } else if (dash + 1 < range.size()) {
      pin.to = size_in(text, range.substr(dash + 1));
    }
    if (pin.to < pin.from) refuse(text, "the range '" + printable(range) + "' descends");
  }
  try {
    pin.spec = parse_backend_spec(text.substr(equals + 1)).text();
  } catch (const Error&) {
    refuse(text, "'" + printable(text.substr(equals + 1)) + "' is no backend");
  }
  if (pin.spec == "auto") refuse(text, "auto is no backend to pin to");
  return pin;
}

}  // namespace

std::vector<Pin> parse_pins(std::string_view text) {
  std::vector<Pin> pins;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    pins.push_back(parse_pin(text.substr(0, end)));
    if (end + 1 == text.size()) refuse(text, "nothing follows the comma");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pins;
}

}  // namespace tutti

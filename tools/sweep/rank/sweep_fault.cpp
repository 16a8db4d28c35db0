#include "sweep/rank/sweep_fault.hpp"

#include <array>

#include "text/text.hpp"
#include "tutti/backend_spec.hpp"
#include "tutti/config.hpp"
#include "tutti/spi/environment.hpp"
#include "usage_error.hpp"

namespace tutti::tools {

SweepFault SweepFault::parse(std::string_view text) {
  constexpr std::array<std::string_view, 4> kinds = {"crash", "exit", "hang", "wrong"};
  const std::size_t at = text.find('@');
  const std::size_t colon = text.find(':');
  if (at != std::string_view::npos && colon != std::string_view::npos && at < colon) {
    const auto bytes = parse_bytes(text.substr(at + 1, colon - at - 1));
    for (std::size_t i = 0; i < kinds.size() && bytes; ++i) {
      if (text.substr(0, at) == kinds[i])
        return {static_cast<Kind>(i), *bytes, parse_backend_spec(text.substr(colon + 1)).text()};
    }
  }
  throw UsageError(
      concat("TUTTI_SWEEP_FAULT=", text, " is not a fault; accepted: (crash|exit|hang|wrong)@BYTES:BACKEND"));
}

std::optional<SweepFault::Kind> SweepFault::ordered(std::string_view target, std::uint64_t bytes) {
  const std::string text = spi::environment("TUTTI_SWEEP_FAULT").value_or("");
  if (text.empty()) return std::nullopt;
  const SweepFault fault = parse(text);
  if (fault.target != target || fault.bytes != bytes) return std::nullopt;
  return fault.kind;
}

}  // namespace tutti::tools

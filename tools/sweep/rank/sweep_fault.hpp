#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::tools {

/// Fault injection for the tests of the sweep: TUTTI_SWEEP_FAULT=KIND@BYTES:BACKEND. Only the ranks of a sweep read the
/// variable.
struct SweepFault {
  enum class Kind : std::uint8_t { crash, exit, hang, wrong };
  Kind kind = Kind::crash;
  std::uint64_t bytes = 0;
  std::string target;  ///< with colons

  /// The fault that TUTTI_SWEEP_FAULT requests for this backend and size. Throws UsageError or
  /// Error{config} for an invalid value.
  [[nodiscard]] static std::optional<Kind> ordered(std::string_view target, std::uint64_t bytes);
  [[nodiscard]] static SweepFault parse(std::string_view text);
};

}  // namespace tutti::tools

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "text/report.hpp"
#include "tutti/info/native_info.hpp"

namespace tutti::tools {

/// Adds the ways of the native engine by operation and size, and its measurements, for `tutti info --native`.
void report_native(Report& report, const NativeInfo& info);

/// The same for programs: {"ranks", "ring_bytes", "past_caches_above", "direct", "ways", "moves",
/// "steady"}.
[[nodiscard]] nlohmann::ordered_json native_json(const NativeInfo& info);

}  // namespace tutti::tools

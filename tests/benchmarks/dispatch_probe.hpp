// Shared by the probes and dispatch_benchmark.
#pragma once

/// Calls of the short loop, whose cost is subtracted from that of the long one.
inline constexpr long kFewCalls = 100;

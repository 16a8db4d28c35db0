#pragma once

#include <optional>
#include <vector>

#include "tuning/tuning_builder.hpp"
#include "tuning/tuning_sweep.hpp"

namespace tutti::tools {

/// Measures the compositions that look promising in the results of the same options: the parts were measured apart,
/// and their times need not add up, because each found its data in the caches. Runs `auto` with a table of nothing but
/// these compositions, as often as the options say. Returns those that succeeded, with their times; nothing if the user
/// interrupted it.
[[nodiscard]] std::optional<std::vector<ComposedCell>> measure_compositions(const TuningSweepOptions& options,
                                                                            const SweepResults& results);

}  // namespace tutti::tools

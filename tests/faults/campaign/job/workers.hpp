#pragma once

#include <functional>
#include <string>
#include <vector>

#include "faults/campaign/run_plan.hpp"

namespace tutti::test::campaign {

/// Carries out runs in worker processes, several at a time. `on_line` gets the journal's line of every finished run, in
/// this process; false ends the campaign. Returns false if it was ended by that, by SIGINT or by SIGTERM, or if a
/// worker died. No process of a job is left in any case.
[[nodiscard]] bool carry_out(const std::vector<RunId>& runs, int workers,
                             const std::function<bool(const std::string&)>& on_line);

}  // namespace tutti::test::campaign

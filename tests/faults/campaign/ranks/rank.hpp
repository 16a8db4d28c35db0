#pragma once

#include "faults/campaign/run_plan.hpp"

namespace tutti::test::campaign {

/// Runs as one rank of a job: makes the communicators, carries out the workload, injects the fault if this rank is the
/// culprit, and writes its report to the file "rank-N" of the folder. Returns the exit code.
[[nodiscard]] int run_rank(const RunPlan& plan, const char* folder);

}  // namespace tutti::test::campaign

#pragma once

#include <string>

#include "results/sweep_results.hpp"

namespace tutti::tools {

/// Results with the name under which a report shows them: that of their file, or the time of the sweep.
struct NamedResults {
  std::string name;
  SweepResults results;
};

}  // namespace tutti::tools

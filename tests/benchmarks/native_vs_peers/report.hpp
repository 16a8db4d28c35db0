#pragma once

#include <string>

#include "measurement.hpp"
#include "results.hpp"
#include "text/terminal.hpp"

namespace tutti::bench {

/// The machine, the libraries with their versions, and every setting that was made for them.
[[nodiscard]] std::string header(const Results& results, const Plan& plan, const tools::Terminal& terminal);

/// One table per operation and number of ranks, what went wrong below it, and the targets.
[[nodiscard]] std::string tables(const Results& results, const tools::Terminal& terminal);

/// Everything, the rounds included.
[[nodiscard]] std::string to_json(const Results& results, const Plan& plan);

}  // namespace tutti::bench

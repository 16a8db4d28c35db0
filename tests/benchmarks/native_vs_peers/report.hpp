#pragma once

#include <string>

#include "measurement.hpp"
#include "results.hpp"
#include "text/terminal.hpp"

namespace tutti::bench {

/// The machine, and the libraries with their versions and settings.
[[nodiscard]] std::string header(const Results& results, const Plan& plan, const tools::Terminal& terminal);

/// One table per operation and number of ranks, with its problems below it, and the table of targets.
[[nodiscard]] std::string tables(const Results& results, const tools::Terminal& terminal);

/// All results, including those of each round.
[[nodiscard]] std::string to_json(const Results& results, const Plan& plan);

}  // namespace tutti::bench

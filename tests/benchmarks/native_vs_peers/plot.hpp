#pragma once

#include <string>

#include "results.hpp"

namespace tutti::bench {

/// An SVG picture: a panel per operation and number of ranks with bandwidth over size, both logarithmic, a line per
/// contestant. Colours that are told apart with any kind of sight, and a mark of its own for each line.
[[nodiscard]] std::string plot(const Results& results);

}  // namespace tutti::bench

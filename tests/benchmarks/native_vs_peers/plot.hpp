#pragma once

#include <string>

#include "results.hpp"

namespace tutti::bench {

/// An SVG picture with a panel per operation and number of ranks: bandwidth over size, both logarithmic, a line per
/// contestant. The colours can be distinguished with any colour vision, and each line has its own mark.
[[nodiscard]] std::string plot(const Results& results);

}  // namespace tutti::bench

#pragma once

#include <cstddef>

namespace tutti::profiling {

/// Looks of tables for people.
struct TextOptions {
  std::size_t width = 100;  ///< characters per line; wider tables are split
  bool colour = false;      ///< titles are bold and rules dim
};

}  // namespace tutti::profiling

#pragma once

#include <string_view>

#include "sources/common/collective_library.hpp"

namespace tutti::profiling {

/// oneCCL, as both of its interfaces are recorded: a call of one that the other one makes is not the program's.
struct OneCcl {
  static constexpr std::string_view kSource = "ccl";
  static constexpr std::string_view kTitle = "BACKEND_CCL";
  static constexpr int kLevel = 8;
  static constexpr std::string_view kLeaf = "ccl";
  static constexpr const char* kCommCount = "onecclCommCount";
  static constexpr const char* kCommUserRank = "onecclCommUserRank";
  static constexpr int kInProgress = 6;
};

}  // namespace tutti::profiling

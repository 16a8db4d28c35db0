#pragma once

#include <string>

#include "report/profile.hpp"
#include "sinks/text_options.hpp"

namespace tutti::profiling {

/// Two sessions side by side, per operation and size and per function, kernel and copy: calls, average and total before
/// and after, ratio of the averages. A change is marked where it is larger than the spread of the calls: the middle
/// halves of the times do not overlap, and the averages differ by more than the histograms resolve.
[[nodiscard]] std::string comparison_text(const Profile& before, const Profile& after, const TextOptions& text = {});

}  // namespace tutti::profiling

#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

namespace tutti::horovod {

/// The timeline of a rank.
struct TimelinePart {
  int rank = 0;
  std::string_view text;  ///< the file that TimelineWriter wrote; one that was cut off is read as far as it goes
  /// The rank's clock minus that of the first part's rank, at the same moment.
  std::chrono::microseconds clock_offset{0};
  std::string_view host = {};  ///< shown with the rank; may be empty
};

/// One Chrome trace of all parts: a process per rank, a thread in it per tensor. Times begin with the first event.
/// Throws Error{config} that names the rank if a part is no timeline.
[[nodiscard]] std::string merge_timelines(std::span<const TimelinePart> parts);

}  // namespace tutti::horovod

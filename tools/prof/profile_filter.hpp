#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "report/profile.hpp"

namespace tutti::tools {

/// Choice of the part of a session that is shown. Patterns have the wildcards of a shell; an empty one matches all.
struct ProfileFilter {
  std::set<int> ranks = {};    ///< empty: all
  std::string operation = {};  ///< pattern of the operation that caused a record
  std::string function = {};   ///< pattern of a record's name
  std::string region = {};     ///< pattern
  std::uint64_t least_bytes = 0;
  std::uint64_t most_bytes = UINT64_MAX;  ///< sizes are those of the operation, or of the record without one

  [[nodiscard]] bool is_empty() const;
};

/// Removes the rows and events that the filter leaves out.
void apply_filter(profiling::Profile& profile, const ProfileFilter& filter);

/// Removes rows of device work.
void drop_device_work(profiling::Profile& profile);

/// Adds another profile to `target`: sessions of several hosts of a job that share no file system.
void append_profile(profiling::Profile& target, const profiling::Profile& other);

}  // namespace tutti::tools

#pragma once

#include <cstdint>
#include <string>

#include "report/profile.hpp"

namespace tutti::profiling {

/// Counting of hosts, processes, threads and devices in the titles of tables.
enum class TitleCounts : std::uint8_t {
  tuples,   ///< distinct (host, process, thread, ...): iprof since 2024
  distinct  ///< distinct values of each field by itself: iprof before
};

/// Choices for the tables of a tally.
struct TallyOptions {
  int longest_name = 80;  ///< longer names are cut in the middle; negative: never
  bool extended = false;  ///< a table per host, process, thread and device
  TitleCounts counts = TitleCounts::tuples;
};

/// The tally in the text format of iprof: host calls by level, device profiling, explicit memory traffic. Empty tables
/// are left out.
[[nodiscard]] std::string tally_text(const Profile& profile, const TallyOptions& options = {});

/// The same as one line of JSON with iprof's keys.
[[nodiscard]] std::string tally_json(const Profile& profile, const TallyOptions& options = {});

}  // namespace tutti::profiling

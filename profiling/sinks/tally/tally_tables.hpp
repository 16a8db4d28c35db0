#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report/profile.hpp"

/// The tables of a tally before they are text or JSON.
namespace tutti::profiling {

/// Calls of one function, runs of one kernel or copies of one kind.
struct TallySum {
  std::uint64_t calls = 0;
  std::uint64_t errors = 0;
  std::uint64_t total = 0;
  std::uint64_t min = UINT64_MAX;
  std::uint64_t max = 0;

  void add(const TallySum& other) noexcept {
    calls += other.calls;
    errors += other.errors;
    total += other.total;
    min = std::min(min, other.min);
    max = std::max(max, other.max);
  }
  /// Whether at least one call succeeded, so that there are times.
  [[nodiscard]] bool has_values() const noexcept { return calls != errors; }
};

/// Thread, device and sub-device of rows. Device and sub-device are 0 except in the table of devices.
struct TallyPlace {
  std::string host;
  std::uint32_t process = 0;
  std::uint32_t thread = 0;
  std::uint64_t device = 0;
  std::uint64_t sub_device = 0;
  auto operator<=>(const TallyPlace&) const = default;
};

enum class TallyTopic : std::uint8_t { host, device, traffic };

using TallyRows = std::map<std::string, TallySum>;

struct TallyTable {
  TallyTopic topic = TallyTopic::host;
  int level = 0;                 ///< of the sources; 0 for devices
  std::set<std::string> titles;  ///< of the sources
  std::map<TallyPlace, TallyRows> places;
};

/// The tables that have rows, in the order of iprof: host calls by descending level, devices, traffic by descending
/// level. Operations stand for the host calls of tutti, and of sources that record none.
[[nodiscard]] std::vector<TallyTable> tally_tables(const Profile& profile);

/// Rows of all places by name.
[[nodiscard]] TallyRows merged_rows(const TallyTable& table);

/// Rows by descending total, and the sum of all as the last one, "Total".
[[nodiscard]] std::vector<std::pair<std::string, TallySum>> sorted_with_total(const TallyRows& rows);

}  // namespace tutti::profiling

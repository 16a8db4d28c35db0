#pragma once

#include <string>
#include <string_view>

#include "report/profile.hpp"

namespace tutti::test {

/// Builds profiles for tests of sinks: rows are added on first use.
class ProfileBuilder {
 public:
  /// Number of a new process.
  int process(std::string host, int rank, std::int64_t realtime_offset = 0);
  int source(std::string_view title, int level);
  int device(std::uint64_t device, std::uint64_t sub_device = 0, std::string name = "GPU");
  int context(profiling::ContextRow row);
  int communicator(int process, std::uint64_t key, int rank, int size);
  std::uint32_t name(std::string_view name);
  /// Adds the event, with its name; events may come in any order.
  void event(std::string_view event_name, profiling::EventRow row);
  /// The profile with its events in their order.
  [[nodiscard]] profiling::Profile finish() const;

 private:
  profiling::Profile profile_;
};

/// A profile of three processes on two hosts with everything that a timeline shows, different for each seed: nested
/// calls, overlapping operations, regions, devices and sub-devices, copies, memory, errors, and names with characters
/// that formats treat specially. Device work begins within its call or later.
[[nodiscard]] profiling::Profile random_profile(unsigned seed, int steps);

}  // namespace tutti::test

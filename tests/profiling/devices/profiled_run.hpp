#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "report/session_reader.hpp"
#include "support/system/subprocess.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {

/// Calls, failed calls, and the sum of the values of a name.
struct Sum {
  std::uint64_t calls = 0;
  std::uint64_t errors = 0;
  std::uint64_t total = 0;
  bool operator==(const Sum&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Sum& sum) {
  return out << sum.calls << " calls, " << sum.errors << " failed, sum " << sum.total;
}

/// A program that ran with a source, and its session.
struct ProfiledRun {
  /// `environment` beside that of the session.
  ProfiledRun(const std::vector<std::string>& command, std::map<std::string, std::string> environment) {
    const std::string session = folder.file("session");
    mkdir(session.c_str(), 0700);
    environment.insert({{"TUTTI_PROF_SESSION", session}, {"TUTTI_PROF_TIMELINE", "1"}});
    result = run_command(command, environment, std::chrono::seconds(120));
    // A process in which no source records anything has no file.
    if (result.code != 0 || std::filesystem::is_empty(session)) return;
    profile = profiling::read_session(session);
  }

  /// The rows of a kind by name, over threads and devices. Values of host calls are times and left out.
  [[nodiscard]] std::map<std::string, Sum> sums(profiling::Kind kind, const std::string& title) const {
    std::map<std::string, Sum> found;
    for (const profiling::TallyRow& row : profile.rows) {
      if (row.kind != kind || row.source < 0 || profile.sources[static_cast<std::size_t>(row.source)].title != title)
        continue;
      Sum& sum = found[row.name];
      sum.calls += row.statistics.calls;
      sum.errors += row.statistics.errors;
      if (kind != profiling::Kind::host && kind != profiling::Kind::device) sum.total += row.statistics.total;
    }
    return found;
  }

  /// Device work by device, sub-device and name.
  [[nodiscard]] std::map<std::tuple<std::uint64_t, std::uint64_t, std::string>, std::uint64_t> device_calls() const {
    std::map<std::tuple<std::uint64_t, std::uint64_t, std::string>, std::uint64_t> found;
    for (const profiling::TallyRow& row : profile.rows) {
      if (row.kind != profiling::Kind::device || row.device < 0) continue;
      const profiling::DeviceRow& device = profile.devices[static_cast<std::size_t>(row.device)];
      found[{device.device, device.sub_device, row.name}] += row.statistics.calls;
    }
    return found;
  }

  TemporaryFolder folder;
  CommandResult result;
  profiling::Profile profile;
};

/// Device intervals lie behind the begin of the call that started them, by its correlation, and within the process's
/// life; each has such a call.
inline void expect_plausible_intervals(const profiling::Profile& profile, std::size_t expected) {
  std::map<std::uint64_t, const profiling::EventRow*> calls;
  for (const profiling::EventRow& event : profile.events) {
    if (event.kind == profiling::Kind::host && event.correlation != 0) calls[event.correlation] = &event;
  }
  std::size_t intervals = 0;
  for (const profiling::EventRow& event : profile.events) {
    if (event.kind != profiling::Kind::device) continue;
    ++intervals;
    const auto call = calls.find(event.correlation);
    ASSERT_NE(call, calls.end()) << profile.names[event.name];
    EXPECT_LE(event.begin_ns, event.end_ns);
    // The clocks of host and device are joined with an error of some microseconds, more on a busy machine.
    constexpr std::uint64_t kClockError = 50'000'000;
    EXPECT_GE(event.begin_ns + kClockError, call->second->begin_ns) << profile.names[event.name];
    EXPECT_LE(event.end_ns, call->second->begin_ns + std::uint64_t{100'000'000'000}) << profile.names[event.name];
  }
  EXPECT_EQ(intervals, expected);
}

}  // namespace tutti::test

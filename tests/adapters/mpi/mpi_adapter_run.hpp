#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "profiling/mpi/mpi_session.hpp"
#include "support/system/temporary_folder.hpp"

/// Programs behind the MPI adapter.
namespace tutti::test {

using Environment = std::map<std::string, std::string>;

inline const Environment kServeAll = {{"TUTTI_PRELOAD_OPS", "all"}, {"TUTTI_PRELOAD_AFTER", "0"}, {"TUTTI_SHOW", "1"}};

/// All calls are served, by a backend with wrong sums.
inline Environment with_wrong_sums() {
  Environment environment = kServeAll;
  environment["TUTTI_BACKEND"] = "fake_faulty:native";
  environment["TUTTI_FAKE_FAULTY_HOW"] = "wrong_sum";
  environment["TUTTI_MODULE_PATH"] = TUTTI_TEST_FAULTY_MODULES;
  return environment;
}

/// Calls of a function as the adapter's report tells them.
struct Shown {
  std::uint64_t served = 0;
  std::uint64_t passed = 0;
};
inline std::map<std::string, Shown> shown_calls(const std::string& output) {
  std::map<std::string, Shown> shown;
  const std::regex line(R"((MPI_\w+): (\d+) served.*?, (\d+) passed on)");
  for (std::sregex_iterator at(output.begin(), output.end(), line), end; at != end; ++at)
    shown[(*at)[1]] = {std::stoull((*at)[2]), std::stoull((*at)[3])};
  return shown;
}

/// The lines of all ranks that depend on all results.
inline std::set<std::string> digests(const std::string& output) {
  std::set<std::string> lines;
  const std::regex line(R"(digest \d+ [0-9a-f]+)");
  for (std::sregex_iterator at(output.begin(), output.end(), line), end; at != end; ++at) lines.insert(at->str());
  return lines;
}

/// Test of the adapter on one MPI library.
class MpiAdapterTest : public testing::TestWithParam<MpiKit> {
 protected:
  [[nodiscard]] static std::string adapter() {
    std::string libraries = TUTTI_TEST_ADAPTERS "/libtutti_adapter_mpi.so";
    if (GetParam().name != "openmpi") libraries += ":" TUTTI_TEST_ADAPTERS "/libtutti_adapter_mpi_large.so";
    return libraries;
  }
  /// A test program that is linked to the MPI library.
  [[nodiscard]] static std::string built(const std::string& name) {
    return GetParam().folder + "/mpi_" + name + "_" + GetParam().name;
  }
  [[nodiscard]] static std::string program() { return built("collectives"); }
  /// The counter is below the adapter: it sees what the adapter passes on.
  [[nodiscard]] static std::string counter() {
    return GetParam().folder + "/libmpi_counter_" + GetParam().name + ".so";
  }

  CommandResult run(int ranks, const std::vector<std::string>& command, const std::string& preload,
                    Environment environment, std::chrono::seconds limit = std::chrono::seconds(100)) {
    environment["LD_PRELOAD"] = preload;
    environment["COUNTER_FILE"] = folder_.file("count");
    return run_profiled(GetParam(), ranks, command, environment, limit);
  }
  [[nodiscard]] CallCounts counted() const { return counted_calls(folder_.file("count.0"), true); }

  TemporaryFolder folder_;
};

}  // namespace tutti::test

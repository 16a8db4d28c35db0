// The cost of the sources of SYCL and Level Zero: runs programs that copy 1 MiB without and with the source, in turn,
// and prints the medians of both and their ratio. No test, since times on a shared machine say nothing about one run.
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "support/system/subprocess.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {
namespace {

using Environment = std::map<std::string, std::string>;

struct Subject {
  const char* name;
  std::string program;
  Environment always;
  Environment with_source;
};

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double run(const Subject& subject, bool with_source, const std::string& copies) {
  const TemporaryFolder folder;
  Environment environment = subject.always;
  if (with_source) {
    const std::string session = folder.file("session");
    mkdir(session.c_str(), 0700);
    environment.insert(subject.with_source.begin(), subject.with_source.end());
    environment["TUTTI_PROF_SESSION"] = session;
  }
  const CommandResult result = run_command({subject.program, copies}, environment, std::chrono::seconds(60));
  if (result.code != 0) {
    std::printf("%s failed:\n%s", subject.name, result.output.c_str());
    std::exit(1);
  }
  return std::atof(result.output.c_str());
}

void compare(const Subject& subject, int rounds, const std::string& copies) {
  std::vector<double> off;
  std::vector<double> on;
  for (int i = 0; i < rounds; ++i) {
    off.push_back(run(subject, false, copies));
    on.push_back(run(subject, true, copies));
  }
  std::printf("%-12s copy of 1 MiB: off %.1f us, on %.1f us, ratio %.4f (%d rounds of %s)\n", subject.name,
              median_of(off) / 1e3, median_of(on) / 1e3, median_of(on) / median_of(off), rounds, copies.c_str());
}

}  // namespace
}  // namespace tutti::test

/// usage: source_cost [ROUNDS [COPIES]]
int main(int count, char** arguments) {
  using namespace tutti::test;
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 15;
  const std::string copies = count > 2 ? arguments[2] : "500";
#ifdef TUTTI_TEST_SYCL_COPIES
  compare({"SYCL",
           TUTTI_TEST_SYCL_COPIES,
           {{"LD_LIBRARY_PATH", TUTTI_TEST_SYCL_LIBRARIES},
            {"OCL_ICD_FILENAMES", TUTTI_TEST_CPU_DRIVER},
            {"ONEAPI_DEVICE_SELECTOR", "opencl:cpu"}},
           {{"XPTI_TRACE_ENABLE", "1"},
            {"XPTI_FRAMEWORK_DISPATCHER", TUTTI_TEST_SYCL_LIBRARIES "/libxptifw.so"},
            {"XPTI_SUBSCRIBERS", TUTTI_TEST_SYCL_SOURCE},
            {"UR_ENABLE_LAYERS", "UR_LAYER_TRACING"}}},
          rounds, copies);
#endif
#ifdef TUTTI_TEST_LEVEL_ZERO_COPIES
  compare({"Level Zero",
           TUTTI_TEST_LEVEL_ZERO_COPIES,
           {{"ZE_ENABLE_ALT_DRIVERS", TUTTI_TEST_LEVEL_ZERO_DRIVER}},
           {{"LD_PRELOAD", TUTTI_TEST_LEVEL_ZERO_SOURCE}, {"ZE_ENABLE_TRACING_LAYER", "1"}}},
          rounds, copies);
#endif
  return 0;
}

// Every operation on device memory of ranks that are processes, with backends that take host memory only.
#include <gtest/gtest.h>

#include "support/device_support.hpp"
#include "support/required_backends.hpp"
#include "support/subprocess.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

using Environment = std::map<std::string, std::string>;

// Open MPI's hwloc starts an OpenCL before tutti can tell it of the CPU's driver.
const Environment kWithDriver = {{"OCL_ICD_VENDORS", TUTTI_TEST_CPU_DRIVER},
                                 {"OCL_ICD_FILENAMES", TUTTI_TEST_CPU_DRIVER}};

CommandResult tutti_run(const std::string& target, int ranks, const std::vector<std::string>& arguments,
                        const Environment& environment = kWithDriver) {
  std::vector<std::string> command = {TUTTI_TEST_COMMAND, "run",  "-n", std::to_string(ranks),    "--backend",  target,
                                      "--timeout",        "150s", "--", TUTTI_TEST_RANKS_PROGRAM, "--deadline", "120"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_command(command, environment, 180s);
}

struct Parameter {
  const char* target;
  int ranks;
  const char* memory;
};

void PrintTo(const Parameter& parameter, std::ostream* out) {
  *out << parameter.target << " " << parameter.ranks << " " << parameter.memory;
}

class OnDevices : public testing::TestWithParam<Parameter> {};

TEST_P(OnDevices, EveryOperation) {
  const auto [target, ranks, memory] = GetParam();
  if (const std::string reason = why_no_device("sycl"); !reason.empty()) TUTTI_SKIP_OR_FAIL("sycl", reason);
  const CommandResult result =
      tutti_run(target, ranks, {"--device", "sycl", "--memory", memory, "--plan", "rotated", "--large"});
  if (result.code != 0) {
    const CommandResult hello = tutti_run(target, ranks, {"--hello"});
    if (hello.code != 0) TUTTI_SKIP_OR_FAIL(target, hello.output);
  }
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("conformance: " + std::to_string(ranks) + " ranks on "), std::string::npos)
      << result.output;
  EXPECT_NE(result.output.find(", 0 failures"), std::string::npos) << result.output;
}

INSTANTIATE_TEST_SUITE_P(Sycl, OnDevices,
                         testing::Values(Parameter{"native", 2, "device"}, Parameter{"native", 4, "device"},
                                         Parameter{"native", 2, "shared"}, Parameter{"mpi-openmpi", 2, "device"},
                                         Parameter{"mpi-mpich", 2, "device"}, Parameter{"mpi-intel", 2, "device"}),
                         [](const auto& row) {
                           std::string text =
                               std::string(row.param.target) + std::to_string(row.param.ranks) + "_" + row.param.memory;
                           std::erase(text, '-');
                           return text;
                         });

void expect_refusal(const Environment& environment, const std::string& reason) {
  const CommandResult result = tutti_run("native", 1, {"--device", "sycl"}, environment);
  EXPECT_EQ(result.code, 1) << result.output;
  EXPECT_NE(result.output.find(reason), std::string::npos) << reason << " is not in: " << result.output;
}

TEST(SyclIsNotUsable, WithoutItsLibrary) {
  expect_refusal({{"TUTTI_SYCL_LIBRARY", "/no/such/libsycl.so"}},
                 "TUTTI_SYCL_LIBRARY: /no/such/libsycl.so: cannot open shared object file");
}

TEST(SyclIsNotUsable, WithAnotherLibrary) {
  expect_refusal({{"TUTTI_SYCL_LIBRARY", "libdl.so.2"}}, "TUTTI_SYCL_LIBRARY: libdl.so.2 is no libsycl.so");
}

TEST(SyclIsNotUsable, WithoutADevice) {
  expect_refusal({{"ONEAPI_DEVICE_SELECTOR", "opencl:fpga"}}, "the SYCL runtime finds no device with USM");
}

}  // namespace
}  // namespace tutti::test

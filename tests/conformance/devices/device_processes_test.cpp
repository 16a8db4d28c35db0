// Every operation on device memory of ranks that are processes, with backends that take device memory and backends that
// take host memory only.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "support/devices/device_support.hpp"
#include "support/required_backends.hpp"
#include "support/system/subprocess.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

using Environment = std::map<std::string, std::string>;

/// Environment variables with which a process finds the devices of a module on this machine.
Environment environment_of(const std::string& device) {
  // Open MPI's hwloc initialises OpenCL before tutti can set the path of the CPU's driver.
  if (device == "sycl") {
    return {{"OCL_ICD_VENDORS", TUTTI_TEST_CPU_DRIVER}, {"OCL_ICD_FILENAMES", TUTTI_TEST_CPU_DRIVER}};
  }
  if (device == "level_zero") return {{"ZE_ENABLE_ALT_DRIVERS", TUTTI_TEST_LEVEL_ZERO_DRIVER}};
  return {{"TUTTI_CUDA_LIBRARY", TUTTI_TEST_CUDA_LIBRARY}};
}

CommandResult tutti_run(const std::string& target, int ranks, const std::vector<std::string>& arguments,
                        const Environment& environment) {
  std::vector<std::string> command = {TUTTI_TEST_COMMAND, "run",  "-n", std::to_string(ranks),    "--backend",  target,
                                      "--timeout",        "150s", "--", TUTTI_TEST_RANKS_PROGRAM, "--deadline", "120"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_command(command, environment, 180s);
}

/// Reason why ranks cannot use devices of a module on this machine; empty when they can.
std::string why_no_ranks_on(const std::string& device) {
  const CommandResult result = tutti_run("native", 1, {"--bits", "--device", device}, environment_of(device));
  return result.code == 0 ? std::string() : result.output;
}

struct Parameter {
  const char* device;
  const char* target;
  int ranks;
  const char* memory;
};

void PrintTo(const Parameter& parameter, std::ostream* out) {
  *out << parameter.device << " " << parameter.target << " " << parameter.ranks << " " << parameter.memory;
}

class OnDevices : public testing::TestWithParam<Parameter> {};

TEST_P(OnDevices, EveryOperation) {
  const auto [device, target, ranks, memory] = GetParam();
  const Environment environment = environment_of(device);
  const CommandResult result =
      tutti_run(target, ranks, {"--device", device, "--memory", memory, "--plan", "rotated", "--large"}, environment);
  if (result.code != 0) {
    if (const std::string reason = why_no_ranks_on(device); !reason.empty()) TUTTI_SKIP_OR_FAIL(device, reason);
    const CommandResult hello = tutti_run(target, ranks, {"--hello"}, environment);
    if (hello.code != 0) TUTTI_SKIP_OR_FAIL(target, hello.output);
  }
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("conformance: " + std::to_string(ranks) + " ranks on "), std::string::npos)
      << result.output;
  EXPECT_NE(result.output.find(", 0 failures"), std::string::npos) << result.output;
}

std::string name_of(const testing::TestParamInfo<Parameter>& row) {
  std::string text = std::string(row.param.target) + std::to_string(row.param.ranks) + "_" + row.param.memory;
  std::erase(text, '-');
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    Sycl, OnDevices,
    testing::Values(Parameter{"sycl", "native", 2, "device"}, Parameter{"sycl", "native", 4, "device"},
                    Parameter{"sycl", "native", 2, "shared"}, Parameter{"sycl", "mpi-openmpi", 2, "device"},
                    Parameter{"sycl", "mpi-mpich", 2, "device"}, Parameter{"sycl", "mpi-intel", 2, "device"},
                    Parameter{"sycl", "mpi-openmpi", 4, "device"}, Parameter{"sycl", "mpi-intel", 4, "device"},
                    Parameter{"sycl", "ccl", 2, "device"}, Parameter{"sycl", "ccl", 4, "device"},
                    Parameter{"sycl", "ccl", 2, "shared"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    FakeCuda, OnDevices,
    testing::Values(Parameter{"cuda", "native", 2, "device"}, Parameter{"cuda", "native", 4, "device"},
                    Parameter{"cuda", "native", 2, "shared"}, Parameter{"cuda", "mpi-openmpi", 2, "device"},
                    Parameter{"cuda", "mpi-mpich", 2, "device"}, Parameter{"cuda", "mpi-intel", 2, "device"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(FakeLevelZero, OnDevices,
                         testing::Values(Parameter{"level_zero", "native", 2, "device"},
                                         Parameter{"level_zero", "native", 4, "device"},
                                         Parameter{"level_zero", "native", 2, "shared"},
                                         Parameter{"level_zero", "mpi-openmpi", 2, "device"},
                                         Parameter{"level_zero", "mpi-mpich", 2, "device"},
                                         Parameter{"level_zero", "mpi-intel", 2, "device"}),
                         name_of);

void expect_refusal(const std::string& device, Environment environment, const std::string& reason,
                    const char* memory = "device") {
  environment.merge(environment_of(device));
  const CommandResult result = tutti_run("native", 1, {"--device", device, "--memory", memory}, environment);
  EXPECT_EQ(result.code, 1) << result.output;
  EXPECT_NE(result.output.find(reason), std::string::npos) << reason << " is not in: " << result.output;
}

class SyclIsNotUsable : public testing::Test {
 protected:
  void SetUp() override {
    if (why_no_device("sycl") == "it was not built") TUTTI_SKIP_OR_FAIL("sycl", "it was not built");
  }
};

TEST_F(SyclIsNotUsable, WithoutItsLibrary) {
  expect_refusal("sycl", {{"TUTTI_SYCL_LIBRARY", "/no/such/libsycl.so"}},
                 "TUTTI_SYCL_LIBRARY: /no/such/libsycl.so: cannot open shared object file");
}

TEST_F(SyclIsNotUsable, WithAnotherLibrary) {
  expect_refusal("sycl", {{"TUTTI_SYCL_LIBRARY", "libdl.so.2"}}, "TUTTI_SYCL_LIBRARY: libdl.so.2 is not libsycl.so");
}

TEST_F(SyclIsNotUsable, WithoutADevice) {
  expect_refusal("sycl", {{"ONEAPI_DEVICE_SELECTOR", "hip:*"}}, "the SYCL runtime finds no device with USM");
}

class CudaIsNotUsable : public testing::Test {
 protected:
  void SetUp() override {
    if (why_no_device("cuda") == "it was not built") TUTTI_SKIP_OR_FAIL("cuda", "it was not built");
  }
};

TEST_F(CudaIsNotUsable, WithoutItsLibrary) {
  expect_refusal("cuda", {{"TUTTI_CUDA_LIBRARY", "/no/such/libcudart.so"}},
                 "TUTTI_CUDA_LIBRARY: /no/such/libcudart.so: cannot open shared object file");
}

TEST_F(CudaIsNotUsable, WithAnotherLibrary) {
  expect_refusal("cuda", {{"TUTTI_CUDA_LIBRARY", "libm.so.6"}},
                 "is not usable: function cudaRuntimeGetVersion of libcudart is missing");
}

TEST_F(CudaIsNotUsable, WithoutADriver) {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr)
    GTEST_SKIP() << "this machine has an NVIDIA driver (libcuda.so.1)";
  // Uses the real CUDA runtime.
  expect_refusal("cuda", {{"TUTTI_CUDA_LIBRARY", TUTTI_TEST_CUDA_LIBRARY_DIR "/libcudart.so.13"}},
                 "there is no NVIDIA driver: libcuda.so.1: cannot open shared object file");
}

TEST_F(CudaIsNotUsable, WhenTheMaskHidesEveryDevice) {
  expect_refusal("cuda", {{"CUDA_VISIBLE_DEVICES", "-1"}}, "CUDA_VISIBLE_DEVICES='-1' hides every NVIDIA GPU");
}

TEST_F(CudaIsNotUsable, WithManagedMemoryWhereTheHostMustNotTouchIt) {
  expect_refusal("cuda", {{"FAKE_CUDA_CONCURRENT_MANAGED", "0"}},
                 "on cuda:0: the host cannot access managed memory while the device is busy", "shared");
}

}  // namespace
}  // namespace tutti::test

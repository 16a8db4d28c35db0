// Devices that the CUDA module finds on different fake machines, and contexts that it creates there. The test starts
// this program again with "--look" and the environment of such a machine.
#include <cuda.h>

#include <array>
#include <cstdio>
#include <optional>
#include <thread>

#include "fakes/cudart/fake_cuda_test_base.hpp"
#include "support/devices/device_support.hpp"
#include "support/system/subprocess.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

using Environment = std::map<std::string, std::string>;

void print_contexts(int devices) {
  for (int i = 0; i < devices; ++i) {
    unsigned flags = 0;
    int is_active = 0;
    (void)cuDevicePrimaryCtxGetState(i, &flags, &is_active);
    std::printf("%s%s", i == 0 ? "started:" : "", is_active != 0 ? (" " + std::to_string(i)).c_str() : "");
  }
  std::puts("");
}

/// Calls the functions that tutti calls on a device, each on a new thread, which has no current device.
void use(Device device) {
  const auto on_a_thread = [](const auto& body) { std::thread(body).join(); };
  spi::DeviceRuntime& runtime = spi::device_runtime(device);
  std::unique_ptr<spi::DeviceStream> stream;
  std::optional<DeviceArray> array;
  std::unique_ptr<spi::DeviceEvent> fill;
  std::unique_ptr<spi::DeviceEvent> unawaited;
  std::unique_ptr<spi::DeviceGate> gate;
  on_a_thread([&] { stream = runtime.make_stream(device); });
  on_a_thread([&] { array.emplace(stream->stream(), MemoryKind::device, 64); });
  on_a_thread([&] { (void)runtime.locate(stream->stream(), array->data()); });
  on_a_thread([&] { fill = runtime.fill(stream->stream(), array->bytes(), std::byte{1}); });
  on_a_thread([&] { (void)fill->ready(); });
  on_a_thread([&] { fill->wait(); });
  on_a_thread([&] { (void)fill->interval(); });
  on_a_thread([&] { gate = runtime.hold(stream->stream()); });
  on_a_thread([&] { unawaited = runtime.record(stream->stream()); });
  on_a_thread([&] { runtime.wait(stream->stream(), *unawaited); });
  on_a_thread([&] { unawaited.reset(); });
  on_a_thread([&] { gate.reset(); });
  on_a_thread([&] { array.reset(); });
  on_a_thread([&] { stream.reset(); });
}

/// Prints the devices, their links and the devices with a context, before and after the last device is used.
int look() {
  for (const DeviceModuleInfo& module : device_modules()) {
    if (module.name != "cuda") continue;
    if (!module.usable) std::printf("not usable: %s\n", module.reason.c_str());
    for (const DeviceInfo& info : module.devices) {
      std::printf("%s %s at %s driven by %s, %s\n", info.device.name().c_str(), info.name.c_str(), info.address.c_str(),
                  info.driver.c_str(), info.free_bytes == 0 ? "memory unknown" : "memory known");
    }
    for (const DeviceLink& link : module.links) {
      std::printf("%s-%s %s %s %.0f\n", link.from.name().c_str(), link.to.name().c_str(),
                  link.kind == DeviceLink::Kind::fabric ? "fabric" : "peer", link.name.c_str(), link.gb_per_s);
    }
    const int count = static_cast<int>(module.devices.size());
    if (count == 0) return 0;
    print_contexts(count);
    use(module.devices.back().device);
    print_contexts(count);
  }
  return 0;
}

std::string found_on(Environment machine) {
  // The linker may have dropped the fake runtime, because this program does not call it.
  machine["TUTTI_CUDA_LIBRARY"] = TUTTI_TEST_CUDA_LIBRARY;
  const CommandResult result = run_command({"/proc/self/exe", "--look"}, machine, 60s);
  EXPECT_EQ(result.code, 0) << result.output;
  return result.output;
}

TEST(CudaMachine, AskingStartsNothingAndUsingOnlyWhatIsUsed) {
  EXPECT_EQ(found_on({}),
            "cuda:0 fake GPU 0 at 0000:0a:00.0 driven by fake 13000, CUDA 13.0, memory known\n"
            "cuda:1 fake GPU 1 at 0000:1a:00.0 driven by fake 13000, CUDA 13.0, memory known\n"
            "cuda:0-cuda:1 peer  0\n"
            "cuda:1-cuda:0 peer  0\n"
            "started:\n"
            "started: 1\n");
}

TEST(CudaMachine, LinksAreCounted) {
  const Environment direct = {{"FAKE_CUDA_DEVICES", "3"}, {"FAKE_CUDA_NVLINKS", "4"}};
  const std::string found = found_on(direct);
  for (const char* line :
       {"cuda:0-cuda:1 fabric NV4 100\n", "cuda:1-cuda:2 fabric NV4 100\n", "cuda:2-cuda:0 fabric NV4 100\n"}) {
    EXPECT_NE(found.find(line), std::string::npos) << line << " is not in: " << found;
  }
  Environment switched = direct;
  switched["FAKE_CUDA_NVSWITCH"] = "1";
  // All eight links of a device lead to the switches, which connect it to each other device.
  const std::string across = found_on(switched);
  EXPECT_NE(across.find("cuda:0-cuda:2 fabric NV8 200\n"), std::string::npos) << across;
}

TEST(CudaMachine, LinksHaveTheBandwidthOfTheirVersion) {
  constexpr std::array kGbPerS = {0, 20, 25, 25, 25, 25, 25, 50, 0};  // the last version does not exist
  for (std::size_t version = 0; version < kGbPerS.size(); ++version) {
    const std::string found =
        found_on({{"FAKE_CUDA_NVLINKS", "1"}, {"FAKE_CUDA_NVLINK_VERSION", std::to_string(version)}});
    const std::string line = "cuda:0-cuda:1 fabric NV1 " + std::to_string(kGbPerS[version]) + "\n";
    EXPECT_NE(found.find(line), std::string::npos) << "version " << version << " has no " << line << "in: " << found;
  }
}

TEST(CudaMachine, WithoutPeersThereAreNoLinks) {
  EXPECT_EQ(found_on({{"FAKE_CUDA_PEERS", "0"}}),
            "cuda:0 fake GPU 0 at 0000:0a:00.0 driven by fake 13000, CUDA 13.0, memory known\n"
            "cuda:1 fake GPU 1 at 0000:1a:00.0 driven by fake 13000, CUDA 13.0, memory known\n"
            "started:\n"
            "started: 1\n");
}

TEST(CudaMachine, TheManagementLibraryMayBeMissing) {
  const std::string found = found_on({{"FAKE_CUDA_NVML", "0"}, {"FAKE_CUDA_DEVICES", "1"}});
  EXPECT_EQ(found,
            "cuda:0 fake GPU 0 at 0000:0a:00.0 driven by CUDA 13.0, memory unknown\n"
            "started:\n"
            "started: 0\n");
}

TEST(CudaMachine, TheMaskSaysWhatThereIsAndInWhichOrder) {
  const std::string found = found_on({{"CUDA_VISIBLE_DEVICES", "1,0"}});
  EXPECT_EQ(found.substr(0, 17), "cuda:0 fake GPU 1") << found;
  EXPECT_NE(found.find("cuda:1 fake GPU 0 at 0000:0a:00.0"), std::string::npos) << found;
}

TEST(CudaMachine, WhatIsMissingIsSaid) {
  EXPECT_NE(found_on({{"CUDA_VISIBLE_DEVICES", "-1"}})
                .find("not usable: CUDA_VISIBLE_DEVICES='-1' hides every NVIDIA GPU (asked with "),
            std::string::npos);
  EXPECT_NE(found_on({{"FAKE_CUDA_DEVICES", "0"}}).find("not usable: the NVIDIA driver finds no GPU"),
            std::string::npos);
  EXPECT_NE(found_on({{"FAKE_CUDA_DRIVER", "12040"}})
                .find("not usable: the NVIDIA driver is for CUDA 12.4, too old for a libcudart of CUDA 13.0"),
            std::string::npos);
}

}  // namespace
}  // namespace tutti::test

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--look") return tutti::test::look();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

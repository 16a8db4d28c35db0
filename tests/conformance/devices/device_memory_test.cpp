// Every operation on device memory of one module that the backend does not take: the library stages it, or the devices
// carry it out if the ranks can access each other's memory.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "conformance/cases/plan.hpp"
#include "support/devices/device_environment.hpp"
#include "support/rank_threads.hpp"
#include "support/refusals.hpp"
#include "support/required_backends.hpp"

namespace tutti::test {
namespace {

constexpr std::string_view kModule = TUTTI_TEST_DEVICE;

struct Axis {
  int ranks;
  MemoryKind kind;
  bool is_ordered;
  bool is_spread = true;  ///< the ranks are spread over the devices; otherwise all use the first
};

class DeviceMemory : public testing::TestWithParam<Axis> {
 protected:
  void SetUp() override {
    if (const std::string reason = why_no_device(kModule); !reason.empty()) TUTTI_SKIP_OR_FAIL(kModule, reason);
  }

  static RankOptions native() {
    return {.communicator = {.config = Config().set("TUTTI_BACKEND", "native")}, .deadline = std::chrono::seconds(150)};
  }

  /// Runs `body` on ranks that are threads, each with its own stream on its device.
  template <typename Body>
  static void on_devices(const Axis& axis, const Body& body) {
    const std::vector<Device> devices = rank_devices(kModule);
    const auto rank = [&](const Communicator& comm) {
      const Device device = devices[axis.is_spread ? static_cast<std::size_t>(comm.rank()) % devices.size() : 0];
      spi::DeviceRuntime& runtime = spi::device_runtime(device);
      // An operation without a stream needs memory of tutti's own context.
      const auto own = runtime.make_stream(device);
      const Placement placement{own->stream(), axis.kind, axis.is_ordered};
      body(comm, placement);
    };
    EXPECT_EQ("", describe(run_ranks(axis.ranks, rank, native())));
  }
};

TEST_P(DeviceMemory, EveryOperation) {
  const Axis axis = GetParam();
  // Only for device memory do long messages take another path: in pieces, or by the devices.
  const bool large = axis.kind == MemoryKind::device && (axis.ranks == 2 || !axis.is_spread);
  auto plan = make_plan({.ranks = axis.ranks, .seed = 11, .coverage = Coverage::rotated, .large = large});
  if (!axis.is_spread) {
    // Devices may have to build their kernels for each type, which takes a long time.
    std::erase_if(plan, [](const Case& c) { return traits(c.kind).reduces && c.type != DataType::float32; });
  }
  Report report;
  on_devices(axis,
             [&](const Communicator& comm, const Placement& placement) { run_plan(comm, plan, report, &placement); });
  EXPECT_GT(report.checks(), plan.size());
  EXPECT_EQ(report.failures(), 0u) << report.text();
}

TEST_P(DeviceMemory, ManyInFlight) {
  Report report;
  std::atomic<std::uint64_t> with_output = 0;
  on_devices(GetParam(), [&](const Communicator& comm, const Placement& placement) {
    Random random(5);
    std::vector<std::unique_ptr<PreparedCase>> cases;
    std::vector<Work> works;
    for (int i = 0; i < 24; ++i) {
      Case c = random_case(random, comm.size(), 5'000);
      // A receive without its send would wait for ever.
      if (c.kind == OpKind::recv || c.kind == OpKind::send) c.kind = OpKind::broadcast;
      if (comm.rank() == 0 && c.kind != OpKind::barrier) ++with_output;
      const bool on_host = i % 5 == 4;  // every fifth operation is on host memory
      cases.push_back(std::make_unique<PreparedCase>(comm, c, on_host ? nullptr : &placement));
      works.push_back(cases.back()->start(comm, true));
    }
    for (Work& work : works) {
      while (!work.ready()) std::this_thread::yield();
      work.wait();
    }
    for (const auto& c : cases) c->check(report);
  });
  EXPECT_GT(with_output, 0u);
  EXPECT_GE(report.checks(), with_output) << "each operation has an output on at least one rank";
  EXPECT_EQ(report.failures(), 0u) << report.text();
}

// If the ranks pass different kinds of memory, the error names the kinds and the ranks.
TEST(MixedMemory, IsAnErrorOnAllRanks) {
  if (const std::string reason = why_no_device(kModule); !reason.empty()) TUTTI_SKIP_OR_FAIL(kModule, reason);
  constexpr std::size_t kCount = 100'003;  // with device memory on all ranks, the devices would carry this out
  for (const int on_host : {0, 1, 2}) {
    const auto rank = [&](const Communicator& comm) {
      const std::vector<Device> devices = rank_devices(kModule);
      const Device device = devices[static_cast<std::size_t>(comm.rank()) % devices.size()];
      const auto own = spi::device_runtime(device).make_stream(device);
      const DeviceArray array(own->stream(), MemoryKind::device, kCount * sizeof(float));
      std::vector<float> values(kCount);
      array.write(values.data(), kCount * sizeof(float));
      const std::string text = error_of(
          [&] {
            if (comm.rank() == on_host) {
              comm.allreduce(Buffer(values.data(), kCount));
            } else {
              comm.allreduce(Buffer(array.data(), kCount, DataType::float32), {.stream = own->stream()}).wait();
            }
          },
          ErrorCode::invalid_usage);
      expect_words(text, {"allreduce #1", "has device memory", "rank " + std::to_string(on_host) + " has host memory"});
    };
    EXPECT_EQ("", describe(run_ranks(3, rank, {.communicator = {.config = Config().set("TUTTI_BACKEND", "native")}})));
  }
}

std::string name_of(const testing::TestParamInfo<Axis>& axis) {
  return std::string(name(axis.param.kind)) + "_" + std::to_string(axis.param.ranks) + "_ranks_" +
         (axis.param.is_ordered ? "on_streams" : "on_the_host") + (axis.param.is_spread ? "" : "_of_one_device");
}

INSTANTIATE_TEST_SUITE_P(Axes, DeviceMemory,
                         testing::Values(Axis{2, MemoryKind::device, true}, Axis{3, MemoryKind::device, true, false},
                                         Axis{4, MemoryKind::device, true}, Axis{2, MemoryKind::device, false},
                                         Axis{2, MemoryKind::shared, true}, Axis{2, MemoryKind::shared, false},
                                         Axis{2, MemoryKind::host, true}, Axis{2, MemoryKind::host, false}),
                         name_of);

}  // namespace
}  // namespace tutti::test

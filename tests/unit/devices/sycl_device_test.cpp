#include <gtest/gtest.h>

#include <array>

#include "support/data/pattern.hpp"
#include "support/devices/device_support.hpp"
#include "support/observers/device_ledger.hpp"
#include "support/refusals.hpp"
#include "support/required_backends.hpp"
#include "tutti/spi/instrument.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::test {
namespace {

class SyclDevice : public testing::Test, protected OnFirstDevice {
 protected:
  void SetUp() override {
    if (const std::string reason = why_no_device("sycl"); !reason.empty()) TUTTI_SKIP_OR_FAIL("sycl", reason);
    use_first_device("sycl");
  }
};

TEST_F(SyclDevice, ACpuOfSeveralCoresHasTwoParts) {
  const DeviceInfo first = runtime_->devices()[0];
  EXPECT_FALSE(first.is_fake);
  if (first.is_gpu || first.compute_units < 2) GTEST_SKIP() << "the first device is not a CPU with several cores";
  EXPECT_EQ(first.sub_devices, 2);
}

TEST_F(SyclDevice, MemoryIsNotSharedWithOtherProcessesWhereTheDriverCannot) {
  if (runtime_->devices()[0].is_gpu) GTEST_SKIP() << "the drivers of GPUs can share memory";
  const DeviceArray array(stream_, MemoryKind::device, 64);
  const std::string message =
      error_of([&] { (void)runtime_->export_memory(stream_, array.data()); }, ErrorCode::unsupported);
  EXPECT_NE(message.find(devices_[0].name()), std::string::npos) << message;
  (void)error_of([&] { (void)runtime_->import_memory(stream_, {}); }, ErrorCode::unsupported);
}

/// For all bit patterns, including denormals, infinities and NaNs, the results must equal those of the host's kernels
/// bit for bit.
class SyclReductions : public SyclDevice, public testing::WithParamInterface<DataType> {
 protected:
  static constexpr int kSources = 3;
  static constexpr std::size_t kCount = 3001;

  void compare(Reduction reduction, Values values, double prescale, std::uint64_t divisor, std::size_t outputs) {
    const DataType type = GetParam();
    const std::size_t bytes = kCount * size_of(type);
    std::vector<std::vector<std::byte>> inputs;
    std::vector<std::unique_ptr<DeviceArray>> arrays;
    std::vector<const void*> host_inputs;
    std::vector<const void*> device_inputs;
    for (int source = 0; source < kSources; ++source) {
      inputs.emplace_back(bytes);
      fill({.seed = 77, .type = type, .values = values}, source, 0, {inputs.back().data(), kCount, type});
      arrays.push_back(std::make_unique<DeviceArray>(stream_, MemoryKind::device, bytes));
      arrays.back()->write(inputs.back().data(), bytes);
      host_inputs.push_back(inputs.back().data());
      device_inputs.push_back(arrays.back()->data());
    }
    // The second output is also an input.
    const DeviceArray result(stream_, MemoryKind::device, bytes);
    const std::array<void*, 2> device_outputs = {result.data(), arrays[1]->data()};
    runtime_
        ->reduce(stream_, {.reduction = reduction,
                           .type = type,
                           .count = kCount,
                           .outputs = std::span(device_outputs).first(outputs),
                           .inputs = device_inputs,
                           .prescale = prescale,
                           .divisor = divisor})
        ->wait();

    std::vector<std::byte> expected(bytes);
    void* target = expected.data();
    spi::reduce_kernel(reduction, type)(&target, 1, host_inputs.data(), kSources, kCount,
                                        {.prescale = prescale, .divisor = divisor});
    for (std::size_t output = 0; output < outputs; ++output) {
      std::vector<std::byte> got(bytes);
      (output == 0 ? result : *arrays[1]).read(got.data(), bytes);
      for (std::size_t i = 0; i < bytes; ++i) {
        if (got[i] == expected[i]) continue;
        ADD_FAILURE() << name(reduction) << " " << name(type) << " output " << output << " prescale " << prescale
                      << " divisor " << divisor << " differs in element " << i / size_of(type);
        break;
      }
    }
  }
};

TEST_P(SyclReductions, GiveTheBitsOfTheHost) {
  for (const Reduction reduction : kReductions) {
    if (!is_defined(reduction, GetParam())) continue;
    const std::uint64_t divisor = reduction == Reduction::average ? kSources : 1;
    compare(reduction, Values::bits, 1.0, divisor, 2);
    if (is_floating(GetParam())) compare(reduction, Values::real, 0.3, divisor, 1);
  }
  compare(Reduction::average, Values::bits, 1.0, std::uint64_t{1} << 40, 1);
}

INSTANTIATE_TEST_SUITE_P(Types, SyclReductions, testing::ValuesIn(kDataTypes),
                         [](const auto& type) { return std::string(name(type.param)); });

TEST_F(SyclDevice, EverythingIsReportedOnce) {
  DeviceLedger ledger;
  {
    const DeviceArray array(stream_, MemoryKind::device, 4096);
    const DeviceArray pinned(stream_, MemoryKind::host, 4096);
    (void)ledger.take();
    auto fill = runtime_->fill(stream_, array.bytes(), std::byte{1});
    auto copy = runtime_->copy(stream_, pinned.bytes(), array.bytes());
    copy->wait();
    copy->wait();
    EXPECT_TRUE(fill->ready());
    const std::string device = devices_[0].name();
    EXPECT_EQ(ledger.take(), (std::vector<std::string>{
                                 "move device->device 4096", "call handler::memset", "move device->host 4096",
                                 "call handler::memcpy", "call event::wait_and_throw", "call event::get_profiling_info",
                                 device + " copy", "call event::wait_and_throw", "call event::get_info",
                                 "call event::get_profiling_info", device + " fill"}));
  }
  EXPECT_EQ(ledger.take(), (std::vector<std::string>{"free host 4096", "call free", "free device 4096", "call free"}));
}

}  // namespace
}  // namespace tutti::test

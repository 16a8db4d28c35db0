#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <thread>

#include "support/device_ledger.hpp"
#include "support/device_support.hpp"
#include "support/pattern.hpp"
#include "support/required_backends.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/instrument.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::test {
namespace {

using spi::DeviceRuntime;

/// On the first of the devices that ranks are put on.
class SyclDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = why_no_device("sycl"); !reason.empty()) TUTTI_SKIP_OR_FAIL("sycl", reason);
    devices_ = rank_devices("sycl");
    runtime_ = &spi::device_runtime(devices_[0]);
    stream_ = runtime_->stream(devices_[0]);
  }

  std::vector<Device> devices_;
  DeviceRuntime* runtime_ = nullptr;
  Stream stream_;
};

std::string error_of(const std::function<void()>& body, ErrorCode code) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST_F(SyclDevice, DevicesHaveNamesThatParse) {
  const std::vector<DeviceInfo> all = runtime_->devices();
  ASSERT_FALSE(all.empty());
  int parts = 0;
  for (const DeviceInfo& info : all) {
    EXPECT_EQ(Device::parse(info.device.name()), info.device);
    EXPECT_FALSE(info.name.empty());
    EXPECT_GT(info.memory_bytes, 0u);
    EXPECT_GT(info.compute_units, 0u);
    EXPECT_FALSE(info.is_fake);
    if (info.device.index() == 0 && info.device.sub_device() >= 0) ++parts;
  }
  EXPECT_EQ(all[0].device.name(), "sycl:0");
  EXPECT_EQ(all[0].sub_devices, parts);
  if (all[0].compute_units >= 2) {
    EXPECT_EQ(parts, 2) << "a CPU of several cores has two parts";
  }
}

TEST_F(SyclDevice, DevicesThatAreNotThereAreNamed) {
  for (const char* text : {"sycl:9", "sycl:0.7", "sycl:x", "sycl:0.", "sycl:-1", "nothing:0"}) {
    const std::string message = error_of([&] { (void)Device::parse(text); }, ErrorCode::config);
    EXPECT_NE(message.find(std::string("'") + text + "'"), std::string::npos) << message;
    EXPECT_NE(message.find("sycl"), std::string::npos) << "names what there is: " << message;
  }
  const Device missing(devices_[0].module(), 0, 40);
  const std::string message = error_of([&] { (void)runtime_->make_stream(missing); }, ErrorCode::config);
  EXPECT_NE(message.find("sycl:0 has"), std::string::npos) << message;
}

TEST_F(SyclDevice, PointersAreRecognised) {
  for (const MemoryKind kind : {MemoryKind::host, MemoryKind::device, MemoryKind::shared}) {
    const DeviceArray array(stream_, kind, 4096);
    const spi::PointerInfo inside = runtime_->locate(stream_, static_cast<std::byte*>(array.data()) + 100);
    ASSERT_TRUE(inside.where.has_value()) << name(kind) << ": " << inside.found;
    EXPECT_EQ(*inside.where, (Memory{devices_[0], kind}));
  }
  int local = 0;
  const spi::PointerInfo ordinary = runtime_->locate(stream_, &local);
  EXPECT_FALSE(ordinary.where.has_value());
  EXPECT_NE(ordinary.found.find("host memory"), std::string::npos) << ordinary.found;
}

TEST_F(SyclDevice, MemoryOfAnotherDeviceAndFreedMemoryAreRefused) {
  if (devices_.size() < 2) GTEST_SKIP() << "there is one device only";
  const Stream& other = runtime_->stream(devices_[1]);
  void* freed = nullptr;
  {
    const DeviceArray array(other, MemoryKind::device, 4096);
    freed = array.data();
    const spi::PointerInfo found = runtime_->locate(stream_, array.data());
    EXPECT_FALSE(found.where.has_value());
    EXPECT_NE(found.found.find("device memory of " + devices_[1].name()), std::string::npos) << found.found;
    EXPECT_TRUE(runtime_->locate(other, freed).where.has_value());
  }
  EXPECT_FALSE(runtime_->locate(other, freed).where.has_value());
}

TEST_F(SyclDevice, StreamsKeepTheirOrderAndTellTimes) {
  constexpr std::size_t kBytes = 1 << 20;
  const DeviceArray array(stream_, MemoryKind::device, kBytes);
  const DeviceArray pinned(stream_, MemoryKind::host, kBytes);
  const std::uint64_t before = observer_time_ns();
  const auto fill = runtime_->fill(stream_, array.bytes(), std::byte{0x5A});
  const auto copy = runtime_->copy(stream_, pinned.bytes(), array.bytes());
  copy->wait();
  const std::uint64_t after = observer_time_ns();
  EXPECT_TRUE(fill->ready());
  for (std::size_t i = 0; i < kBytes; ++i) ASSERT_EQ(static_cast<unsigned char*>(pinned.data())[i], 0x5A) << i;
  const auto filled = fill->interval();
  const auto copied = copy->interval();
  ASSERT_TRUE(filled && copied);
  constexpr std::uint64_t kClockError = 1'000'000;
  EXPECT_GE(filled->begin_ns + kClockError, before);
  EXPECT_LT(filled->begin_ns, filled->end_ns);
  EXPECT_LE(filled->end_ns, copied->begin_ns + kClockError);
  EXPECT_LT(copied->begin_ns, copied->end_ns);
  EXPECT_LE(copied->end_ns, after + kClockError);
}

TEST_F(SyclDevice, AGateHoldsOneStreamAndThroughAnEventAnother) {
  const DeviceArray array(stream_, MemoryKind::device, 4096);
  const DeviceArray pinned(stream_, MemoryKind::host, 4096);
  const auto first = runtime_->make_stream(stream_);
  const auto second = runtime_->make_stream(stream_);
  runtime_->fill(stream_, array.bytes(), std::byte{1})->wait();
  auto gate = runtime_->hold(first->stream());
  const auto fill = runtime_->fill(first->stream(), array.bytes(), std::byte{2});
  const auto reached = runtime_->record(first->stream());
  runtime_->wait(second->stream(), *reached);
  const auto copy = runtime_->copy(second->stream(), pinned.bytes(), array.bytes());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(fill->ready());
  EXPECT_FALSE(copy->ready());
  gate->open();
  copy->wait();
  EXPECT_EQ(static_cast<unsigned char*>(pinned.data())[4095], 2);
}

TEST_F(SyclDevice, ADestroyedGateIsOpen) {
  const DeviceArray array(stream_, MemoryKind::device, 64);
  const auto stream = runtime_->make_stream(stream_);
  { const auto gate = runtime_->hold(stream->stream()); }
  runtime_->fill(stream->stream(), array.bytes(), std::byte{3})->wait();
}

TEST_F(SyclDevice, MemoryIsNotSharedWithOtherProcessesWhereTheDriverCannot) {
  if (runtime_->devices()[0].is_gpu) GTEST_SKIP() << "GPUs can";
  const DeviceArray array(stream_, MemoryKind::device, 64);
  const std::string message =
      error_of([&] { (void)runtime_->export_memory(stream_, array.data()); }, ErrorCode::unsupported);
  EXPECT_NE(message.find(devices_[0].name()), std::string::npos) << message;
  (void)error_of([&] { (void)runtime_->import_memory(stream_, {}); }, ErrorCode::unsupported);
}

/// All bit patterns, denormals, infinities and NaNs among them, must come out as from the host's kernels, bit for bit.
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
    // The second output is an input too.
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

TEST_F(SyclDevice, ReductionsCheckTheirArguments) {
  const DeviceArray array(stream_, MemoryKind::device, 64);
  void* const output = array.data();
  const std::vector<const void*> many(65, array.data());
  (void)error_of(
      [&] {
        (void)runtime_->reduce(stream_, {.count = 1, .outputs = {&output, 1}, .inputs = many});
      },
      ErrorCode::invalid_argument);
  (void)error_of(
      [&] {
        (void)runtime_->reduce(stream_, {.reduction = Reduction::bit_xor,
                                         .type = DataType::float32,
                                         .count = 1,
                                         .outputs = {&output, 1},
                                         .inputs = std::span(many).first(1)});
      },
      ErrorCode::invalid_argument);
}

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

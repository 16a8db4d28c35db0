// Requirements on every device module, tested through the shared library, as users have it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "support/devices/device_environment.hpp"
#include "support/devices/device_support.hpp"
#include "support/refusals.hpp"
#include "support/required_backends.hpp"

namespace tutti::test {
namespace {

const std::string kModule = TUTTI_TEST_DEVICE;

class DeviceModule : public testing::Test, protected OnFirstDevice {
 protected:
  void SetUp() override {
    if (const std::string reason = why_no_device(kModule); !reason.empty()) TUTTI_SKIP_OR_FAIL(kModule, reason);
    use_first_device(kModule);
  }
};

TEST_F(DeviceModule, DevicesHaveNamesThatParse) {
  const std::vector<DeviceInfo> all = runtime_->devices();
  ASSERT_FALSE(all.empty());
  int parts = 0;
  for (const DeviceInfo& info : all) {
    EXPECT_EQ(Device::parse(info.device.name()), info.device);
    EXPECT_FALSE(info.name.empty());
    EXPECT_GT(info.memory_bytes, 0u);
    EXPECT_GT(info.compute_units, 0u);
    EXPECT_EQ(info.is_fake, info.name.find("fake") != std::string::npos) << info.name;
    if (info.device.index() == 0 && info.device.sub_device() >= 0) ++parts;
  }
  EXPECT_EQ(all[0].device.name(), kModule + ":0");
  EXPECT_EQ(all[0].sub_devices, parts);
}

TEST_F(DeviceModule, DevicesThatAreNotThereAreNamed) {
  for (const char* number : {"9", "0.7", "x", "0.", "-1"}) {
    const std::string text = kModule + ":" + number;
    expect_words(error_of([&] { (void)Device::parse(text); }, ErrorCode::config), {"'" + text + "'", kModule});
  }
  const Device missing(devices_[0].module(), 0, 40);
  expect_words(error_of([&] { (void)runtime_->make_stream(missing); }, ErrorCode::config), {kModule + ":0 has"});
  EXPECT_THROW((void)spi::native_device(devices_[0], "nothing"), Error);
}

TEST_F(DeviceModule, PointersAreRecognised) {
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

TEST_F(DeviceModule, MemoryOfAnotherDeviceAndFreedMemoryAreRefused) {
  if (devices_.size() < 2) GTEST_SKIP() << "needs two devices";
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

TEST_F(DeviceModule, StreamsKeepTheirOrderAndTellTimes) {
  constexpr std::size_t kBytes = 1 << 20;
  const DeviceArray array(stream_, MemoryKind::device, kBytes);
  const DeviceArray pinned(stream_, MemoryKind::host, kBytes);
  const std::uint64_t before = observer_time_ns();
  const auto fill = runtime_->fill(stream_, array.bytes(), std::byte{0x5A});
  const auto copy = runtime_->copy(stream_, pinned.bytes(), array.bytes());
  const std::uint64_t submitted = observer_time_ns();
  copy->wait();
  const std::uint64_t after = observer_time_ns();
  EXPECT_TRUE(fill->ready());
  for (std::size_t i = 0; i < kBytes; ++i) ASSERT_EQ(static_cast<unsigned char*>(pinned.data())[i], 0x5A) << i;
  const auto filled = fill->interval();
  const auto copied = copy->interval();
  ASSERT_TRUE(filled && copied);
  // A module may know the start only to within the duration of the calls.
  const std::uint64_t clock_error = 1'000'000 + (submitted - before);
  EXPECT_GE(filled->begin_ns + clock_error, before);
  EXPECT_LT(filled->begin_ns, filled->end_ns);
  EXPECT_LE(filled->end_ns, copied->begin_ns + clock_error);
  EXPECT_LT(copied->begin_ns, copied->end_ns);
  EXPECT_LE(copied->end_ns, after + clock_error);
}

TEST_F(DeviceModule, AGateHoldsOneStreamAndThroughAnEventAnother) {
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

TEST_F(DeviceModule, ADestroyedGateIsOpen) {
  const DeviceArray array(stream_, MemoryKind::device, 64);
  const auto stream = runtime_->make_stream(stream_);
  { const auto gate = runtime_->hold(stream->stream()); }
  runtime_->fill(stream->stream(), array.bytes(), std::byte{3})->wait();
}

TEST_F(DeviceModule, WhatIsEnqueuedOutlivesItsEvents) {
  constexpr int kRounds = 300;
  const DeviceArray array(stream_, MemoryKind::device, 4096);
  const DeviceArray pinned(stream_, MemoryKind::host, 4096);
  const auto first = runtime_->make_stream(stream_);
  const auto second = runtime_->make_stream(stream_);
  for (int round = 1; round <= kRounds; ++round) {
    auto gate = runtime_->hold(first->stream());
    (void)runtime_->fill(first->stream(), array.bytes(), static_cast<std::byte>(round));
    runtime_->wait(second->stream(), *runtime_->record(first->stream()));
    auto copy = runtime_->copy(second->stream(), pinned.bytes(), array.bytes());
    gate.reset();
    copy->wait();
    ASSERT_EQ(static_cast<unsigned char*>(pinned.data())[17], static_cast<unsigned char>(round));
  }
}

TEST_F(DeviceModule, MoreMemoryThanThereIsIsAnError) {
  // No driver allocates a thousand times the memory that it reports.
  const std::uint64_t too_much = runtime_->devices()[0].memory_bytes * 1000;
  const auto ask = [&] { (void)runtime_->allocate(stream_, MemoryKind::device, too_much, "test"); };
  EXPECT_THROW(ask(), Error);
}

TEST_F(DeviceModule, ReductionsCheckTheirArguments) {
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

// Some libraries store the arguments in the kernel object until the launch, so threads must not share it unprotected.
TEST_F(DeviceModule, ReductionsOfSeveralThreadsKeepTheirArguments) {
  if (!runtime_->can_reduce(stream_, Reduction::sum, DataType::float32)) {
    GTEST_SKIP() << "this module has no reduction kernels";
  }
  constexpr int kThreads = 4;
  constexpr int kRounds = 500;
  std::atomic<int> wrong = 0;
  const auto work = [&](int thread) {
    const auto own = runtime_->make_stream(stream_);
    const DeviceArray input(own->stream(), MemoryKind::shared, 64);
    const DeviceArray output(own->stream(), MemoryKind::shared, 64);
    const void* const from = input.data();
    void* const to = output.data();
    for (int round = 0; round < kRounds; ++round) {
      const auto value = static_cast<float>(round * kThreads + thread);
      std::fill_n(static_cast<float*>(input.data()), 16, value);
      runtime_
          ->reduce(own->stream(), {.reduction = Reduction::sum,
                                   .type = DataType::float32,
                                   .count = 16,
                                   .outputs = {&to, 1},
                                   .inputs = {&from, 1}})
          ->wait();
      if (static_cast<const float*>(output.data())[15] != value) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0) << "wrong results of " << kThreads * kRounds;
}

}  // namespace
}  // namespace tutti::test

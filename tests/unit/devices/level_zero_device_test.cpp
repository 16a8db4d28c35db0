// Properties that only Level Zero has; conformance/devices/device_runtime_test.cpp tests those of every device.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "fakes/level_zero_driver/fake_level_zero.h"
#include "support/devices/device_environment.hpp"
#include "support/devices/device_support.hpp"
#include "support/observers/device_ledger.hpp"
#include "support/refusals.hpp"
#include "support/required_backends.hpp"
#include "support/system/subprocess.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using Environment = std::map<std::string, std::string>;

CommandResult run_program(std::vector<std::string> arguments, const Environment& environment) {
  arguments.insert(arguments.begin(), TUTTI_TEST_LEVEL_ZERO_PROGRAM);
  return run_command(arguments, environment, 100s);
}

constexpr const char* kCard = "fake Level Zero GPU, 2 parts, 2048 MiB, 0 free, 64 units, at fa4e:01:00.0, fake\n";
constexpr const char* kTile = "fake Level Zero GPU, 0 parts, 1024 MiB, 0 free, 32 units, at fa4e:01:00.0, fake\n";

struct Picture {
  const char* name;
  Environment environment;
  std::string expected;
};

void PrintTo(const Picture& picture, std::ostream* out) { *out << picture.name; }

class LevelZeroHierarchy : public testing::TestWithParam<Picture> {};

TEST_P(LevelZeroHierarchy, IsShownAsTheEnvironmentSays) {
  const CommandResult result = run_program({"devices"}, GetParam().environment);
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.output, GetParam().expected);
}

std::string cards_and_tiles() {
  return std::string("level_zero:0 ") + kCard + "level_zero:0.0 " + kTile + "level_zero:0.1 " + kTile +
         "level_zero:0.0 -> level_zero:0.1 same_card  0\nlevel_zero:0.1 -> level_zero:0.0 same_card  0\n";
}

INSTANTIATE_TEST_SUITE_P(
    Pictures, LevelZeroHierarchy,
    testing::Values(
        Picture{"by_default", {}, cards_and_tiles()},
        Picture{"composite", {{"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}, cards_and_tiles()},
        Picture{"combined", {{"ZE_FLAT_DEVICE_HIERARCHY", "COMBINED"}}, cards_and_tiles()},
        Picture{"flat",
                {{"ZE_FLAT_DEVICE_HIERARCHY", "FLAT"}},
                std::string("level_zero:0 ") + kTile + "level_zero:1 " + kTile +
                    "level_zero:0 -> level_zero:1 same_card  0\nlevel_zero:1 -> level_zero:0 same_card  0\n"},
        Picture{"composite_all_tiles_named", {{"ZE_AFFINITY_MASK", "0.0,0.1"}}, cards_and_tiles()},
        Picture{"composite_one_tile", {{"ZE_AFFINITY_MASK", "0.1"}}, std::string("level_zero:0 ") + kTile},
        Picture{"flat_one_tile",
                {{"ZE_FLAT_DEVICE_HIERARCHY", "FLAT"}, {"ZE_AFFINITY_MASK", "1"}},
                std::string("level_zero:0 ") + kTile},
        Picture{"combined_one_tile",
                {{"ZE_FLAT_DEVICE_HIERARCHY", "COMBINED"}, {"ZE_AFFINITY_MASK", "1"}},
                "level_zero:0 fake Level Zero GPU, 1 parts, 1024 MiB, 0 free, 32 units, at fa4e:01:00.0, fake\n"
                "level_zero:0.0 " +
                    std::string(kTile)}),
    [](const auto& picture) { return std::string(picture.param.name); });

TEST(LevelZeroLinks, BetweenCardsAreThoseOfTheFabric) {
  const CommandResult result = run_program({"devices"}, {{"FAKE_LEVEL_ZERO_CARDS", "2"}});
  expect_words(result.output,
               {"level_zero:1.1 fake", "at fa4e:02:00.0", "level_zero:0 -> level_zero:1 fabric XL4 100\n",
                "level_zero:0.0 -> level_zero:1.0 fabric XL2 50\n", "level_zero:1.1 -> level_zero:0.1 fabric XL2 50\n",
                "level_zero:1.0 -> level_zero:1.1 same_card  0\n"});
  EXPECT_EQ(result.output.find("level_zero:0.0 -> level_zero:1.1"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("level_zero:0 -> level_zero:0.0"), std::string::npos) << result.output;
  const CommandResult second = run_program({"devices"}, {{"FAKE_LEVEL_ZERO_CARDS", "2"}, {"ZE_AFFINITY_MASK", "1"}});
  expect_words(second.output, {"level_zero:0.1 fake", "at fa4e:02:00.0"});
  EXPECT_EQ(second.output.find("fa4e:01"), std::string::npos) << second.output;
}

TEST(LevelZeroMemory, IsKnownToBeFreeWhereSystemManagementIsOn) {
  const CommandResult result = run_program({"devices"}, {{"ZES_ENABLE_SYSMAN", "1"}});
  expect_words(result.output, {"level_zero:0 fake Level Zero GPU, 2 parts, 2048 MiB, 2048 free",
                               "level_zero:0.1 fake Level Zero GPU, 0 parts, 1024 MiB, 1024 free"});
  const CommandResult flat =
      run_program({"devices"}, {{"ZES_ENABLE_SYSMAN", "1"}, {"ZE_FLAT_DEVICE_HIERARCHY", "FLAT"}});
  expect_words(flat.output, {"level_zero:0 fake Level Zero GPU, 0 parts, 1024 MiB, 1024 free",
                             "level_zero:1 fake Level Zero GPU, 0 parts, 1024 MiB, 1024 free"});
  for (const char* hierarchy : {"FLAT", "COMPOSITE"}) {
    const CommandResult one = run_program({"devices"}, {{"ZES_ENABLE_SYSMAN", "1"},
                                                        {"ZE_FLAT_DEVICE_HIERARCHY", hierarchy},
                                                        {"ZE_AFFINITY_MASK", hierarchy[0] == 'F' ? "1" : "0.1"}});
    expect_words(one.output, {"level_zero:0 fake Level Zero GPU, 0 parts, 1024 MiB, 1024 free"});
  }
}

TEST(LevelZeroCards, AreNotReachedThroughAnOldLoaderInCombinedMode) {
  const Environment combined = {{"ZE_FLAT_DEVICE_HIERARCHY", "COMBINED"}};
  EXPECT_EQ(run_program({"copy", "level_zero:0.1"}, combined).output, "it works\n");
  const CommandResult card = run_program({"copy", "level_zero:0"}, combined);
  if (card.code == 0) {
    EXPECT_EQ(card.output, "it works\n");
    GTEST_SKIP() << "this loader is newer: it knows the card of a tile, so the card can be used like any device";
  }
  expect_words(card.output, {"only the sub-devices of level_zero:0 can be used", "COMBINED"});
}

TEST(LevelZeroEngines, OneCannotWaitForItself) {
  const Environment one = {{"FAKE_LEVEL_ZERO_COPY_GROUP", "0"}, {"FAKE_LEVEL_ZERO_QUEUES", "1"}};
  EXPECT_EQ(run_program({"copy", "level_zero:0.1"}, one).output, "it works\n");
  expect_words(run_program({"hold", "level_zero:0.1"}, one).output, {"error: level_zero:0.1 has one engine only"});
  EXPECT_EQ(run_program({"hold", "level_zero:0.1"}, {{"FAKE_LEVEL_ZERO_COPY_GROUP", "0"}}).output, "it works\n");
}

struct Refusal {
  const char* name;
  Environment environment;
  std::string reason;
};

void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }

class LevelZeroIsNotUsable : public testing::TestWithParam<Refusal> {};

TEST_P(LevelZeroIsNotUsable, WithTheReason) {
  const CommandResult result = run_program({"devices"}, GetParam().environment);
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.output.find("not usable: "), 0u) << "the library must not print: " << result.output;
  expect_words(result.output, {GetParam().reason});
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, LevelZeroIsNotUsable,
    testing::Values(
        Refusal{"mask", {{"ZE_AFFINITY_MASK", "7"}}, "show no GPU: ZE_AFFINITY_MASK=7 hides all devices that it"},
        Refusal{"flat_mask",
                {{"ZE_FLAT_DEVICE_HIERARCHY", "FLAT"}, {"ZE_AFFINITY_MASK", "0.1"}},
                "show no GPU: ZE_AFFINITY_MASK=0.1 hides"},
        Refusal{"no_card", {{"FAKE_LEVEL_ZERO_CARDS", "0"}}, "the Level Zero drivers show no GPU\n"},
        Refusal{"no_driver", {{"ZE_ENABLE_ALT_DRIVERS", "/no/such/driver.so"}}, "finds no driver (zeInit: "},
        Refusal{"no_loader",
                {{"TUTTI_LEVEL_ZERO_LIBRARY", "/no/such/loader.so"}},
                "TUTTI_LEVEL_ZERO_LIBRARY to its file): /no/such/loader.so"},
        Refusal{"no_functions", {{"TUTTI_LEVEL_ZERO_LIBRARY", "libdl.so.2"}}, "it lacks zeInit"}),
    [](const auto& refusal) { return std::string(refusal.param.name); });

/// Fixture on the first tile.
class LevelZeroDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = why_no_device("level_zero"); !reason.empty()) {
      TUTTI_SKIP_OR_FAIL("level_zero", reason);
    }
    device_ = Device::parse("level_zero:0.0");
    runtime_ = &spi::device_runtime(device_);
    stream_ = runtime_->stream(device_);
  }

  Device device_;
  spi::DeviceRuntime* runtime_ = nullptr;
  Stream stream_;
};

TEST_F(LevelZeroDevice, MemoryOfTheCardIsThatOfItsTiles) {
  const Stream& whole = runtime_->stream(Device::parse("level_zero:0"));
  const DeviceArray array(whole, MemoryKind::device, 4096);
  EXPECT_EQ(runtime_->locate(stream_, array.data()).where, (Memory{device_, MemoryKind::device}));
  const DeviceArray mine(stream_, MemoryKind::device, 4096);
  EXPECT_EQ(runtime_->locate(whole, mine.data()).found, "device memory of level_zero:0.0");
}

// The fake's timestamp counter overflows shortly after the start of the driver, so the loop sees times before and
// after.
TEST_F(LevelZeroDevice, TimesLieWhereTheHostSawThem) {
  // Reading the host's clock and the counter (52 ns per tick) one after the other gives an error, which is larger if
  // the host thread was interrupted in between. An overflow that is not handled gives an error of seconds.
  constexpr std::uint64_t kError = 200'000;
  constexpr std::uint64_t kPause = 200'000'000;
  const DeviceArray array(stream_, MemoryKind::device, 4096);
  std::uint64_t last_end = 0;
  std::size_t fills = 0;
  std::size_t outside = 0;
  const auto stop = std::chrono::steady_clock::now() + 400ms;
  while (std::chrono::steady_clock::now() < stop) {
    const std::uint64_t before = observer_time_ns();
    const auto fill = runtime_->fill(stream_, array.bytes(), std::byte{1});
    fill->wait();
    const std::uint64_t after = observer_time_ns();
    const auto times = fill->interval();
    ASSERT_TRUE(times.has_value());
    EXPECT_GE(times->end_ns - times->begin_ns, 10'000) << "a fill of the fake takes at least 20 us";
    EXPECT_GE(times->begin_ns + kPause, std::max(before, last_end));
    EXPECT_LE(times->end_ns, after + kPause);
    if (times->begin_ns + kError < std::max(before, last_end) || times->end_ns > after + kError) ++outside;
    last_end = times->end_ns;
    ++fills;
  }
  EXPECT_LE(outside, fills / 2);
}

/// Removes the lines that depend on earlier work and on time: the pool creates or reclaims events when it is empty, and
/// a wait polls until the end.
std::vector<std::string> without_upkeep(std::vector<std::string> lines) {
  std::erase_if(lines, [](const std::string& line) {
    return line == "call zeEventPoolCreate" || line == "call zeEventCreate" || line == "call zeEventQueryStatus" ||
           line == "call zeEventHostReset";
  });
  const auto repeated = std::ranges::unique(lines, [](const std::string& earlier, const std::string& later) {
    return earlier == later && earlier == "call zeEventHostSynchronize";
  });
  lines.erase(repeated.begin(), repeated.end());
  return lines;
}

TEST_F(LevelZeroDevice, EverythingIsReportedOnce) {
  DeviceLedger ledger;
  {
    const DeviceArray array(stream_, MemoryKind::device, 4096);
    const DeviceArray pinned(stream_, MemoryKind::host, 4096);
    EXPECT_EQ(ledger.take(), (std::vector<std::string>{"call zeMemAllocDevice", "allocate device 4096",
                                                       "call zeMemAllocHost", "allocate host 4096"}));
    auto copy = runtime_->copy(stream_, pinned.bytes(), array.bytes());
    copy->wait();
    copy->wait();
    EXPECT_EQ(without_upkeep(ledger.take()),
              (std::vector<std::string>{
                  "move device->host 4096", "call zeCommandListAppendBarrier", "call zeCommandListAppendMemoryCopy",
                  "call zeCommandListAppendBarrier", "call zeEventHostSynchronize", "call zeEventQueryKernelTimestamp",
                  "call zeDeviceGetGlobalTimestamps", "call zeDeviceGetGlobalTimestamps",
                  "call zeDeviceGetGlobalTimestamps", "level_zero:0.0 copy", "call zeEventHostSynchronize"}));
    EXPECT_TRUE(runtime_->locate(stream_, array.data()).where.has_value());
    auto gate = runtime_->hold(stream_);
    gate->open();
    gate->open();
    runtime_->record(stream_)->wait();
    gate.reset();
    EXPECT_EQ(without_upkeep(ledger.take()),
              (std::vector<std::string>{"call zeMemGetAllocProperties", "call zeCommandListAppendBarrier",
                                        "call zeEventHostSignal", "call zeCommandListAppendBarrier",
                                        "call zeEventHostSynchronize"}));
  }
  EXPECT_EQ(ledger.take(),
            (std::vector<std::string>{"free host 4096", "call zeMemFree", "free device 4096", "call zeMemFree"}));
}

TEST_F(LevelZeroDevice, EventsAreUsedAgain) {
  const DeviceArray array(stream_, MemoryKind::device, 64);
  DeviceLedger ledger;
  for (int i = 0; i < 1000; ++i) {
    auto gate = runtime_->hold(stream_);
    auto fill = runtime_->fill(stream_, array.bytes(), std::byte{1});
    gate.reset();
    fill->wait();
  }
  const auto lines = ledger.take();
  EXPECT_LE(std::ranges::count(lines, "call zeEventCreate"), 128);
  EXPECT_EQ(std::ranges::count(lines, "call zeEventHostSignal"), 1000);
}

TEST_F(LevelZeroDevice, AnEventThatACommandWaitsForIsNotUsedAgain) {
  const DeviceArray array(stream_, MemoryKind::device, 64);
  const auto held = runtime_->make_stream(stream_);
  auto first = runtime_->hold(held->stream());
  // The second gate is open, but the command that waits for its event is still behind the first gate.
  { const auto second = runtime_->hold(held->stream()); }
  for (int i = 0; i < 200; ++i) runtime_->fill(stream_, array.bytes(), std::byte{1})->wait();
  const auto end = runtime_->record(held->stream());
  EXPECT_FALSE(end->ready());
  first.reset();
  end->wait();
}

TEST_F(LevelZeroDevice, EventsOutliveAQueryThatFailed) {
  void* driver = dlopen(TUTTI_TEST_LEVEL_ZERO_DRIVER, RTLD_NOW | RTLD_NOLOAD);
  const auto fail_queries =
      reinterpret_cast<decltype(&fake_level_zero_fail_queries)>(dlsym(driver, "fake_level_zero_fail_queries"));
  ASSERT_NE(fail_queries, nullptr);
  const DeviceArray array(stream_, MemoryKind::device, 64);
  constexpr int kFills = 2000;  // more than the pools hold, so that they query their events to reclaim them
  const auto fill = [&] {
    for (int i = 0; i < kFills; ++i) runtime_->fill(stream_, array.bytes(), std::byte{1})->wait();
  };
  fail_queries(3);
  const std::string message = error_of(fill, ErrorCode::backend_failure);
  fail_queries(-1);
  expect_words(message, {"zeEventQueryStatus", "ZE_RESULT_ERROR_DEVICE_LOST"});
  fill();
}

TEST_F(LevelZeroDevice, ReductionsSayWhatTheyLack) {
  const DeviceArray array(stream_, MemoryKind::device, 64);
  void* const output = array.data();
  const void* const input = array.data();
  const auto reduce = [&] {
    (void)runtime_->reduce(stream_, {.count = 1, .outputs = {&output, 1}, .inputs = {&input, 1}});
  };
  expect_words(error_of(reduce, ErrorCode::unsupported), {"SPIR-V"});
}

TEST_F(LevelZeroDevice, MemoryThatHasRunOutIsNamed) {
  const auto ask = [&] { (void)runtime_->allocate(stream_, MemoryKind::device, std::size_t{2} << 30, "test"); };
  expect_words(error_of(ask, ErrorCode::system), {"level_zero:0.0 has no 2147483648 bytes of device memory left",
                                                  "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"});
}

spi::IpcHandle parse_handle(const std::string& output) {
  const std::size_t begin = output.find("handle ") + 7;
  const std::string text = output.substr(begin, output.find(" end") - begin);
  spi::IpcHandle handle(text.size() / 2);
  for (std::size_t i = 0; i < handle.size(); ++i) {
    unsigned value = 0;
    std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, value, 16);
    handle[i] = static_cast<std::byte>(value);
  }
  return handle;
}

// The owner is a child of this process, because the system lets a process take descriptors from its children.
TEST_F(LevelZeroDevice, MemoryOfAnotherProcessIsReadAndWritten) {
  const Device device = Device::parse("level_zero:0.1");
  const Stream& stream = runtime_->stream(device);
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  Subprocess owner({TUTTI_TEST_LEVEL_ZERO_PROGRAM, "share"});
  ASSERT_TRUE(owner.wait_for_output(" end", deadline)) << owner.output();
  const spi::IpcHandle handle = parse_handle(owner.output());
  void* memory = runtime_->import_memory(stream, handle);
  EXPECT_EQ(runtime_->locate(stream, memory).where, (Memory{device, MemoryKind::device}));
  const Memory where{device, MemoryKind::device};
  std::byte got = {};
  runtime_->copy(stream, Buffer(&got, 1, DataType::uint8), ConstBuffer(memory, 1, DataType::uint8, where))->wait();
  EXPECT_EQ(got, std::byte{0x21});
  runtime_->fill(stream, Buffer(memory, 1, DataType::uint8, where), std::byte{0x43})->wait();
  const auto status = owner.wait(deadline);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 0) << owner.output();
  runtime_->close_memory(stream, memory);
  EXPECT_FALSE(runtime_->locate(stream, memory).where.has_value());
  // The owner has exited.
  expect_words(error_of([&] { (void)runtime_->import_memory(stream, handle); }, ErrorCode::unsupported),
               {"cannot be opened"});
}

TEST_F(LevelZeroDevice, HandlesOfThisProcessAndNonsense) {
  spi::IpcHandle handle;
  {
    const DeviceArray array(stream_, MemoryKind::device, 4096);
    const std::byte value{0x5A};
    array.write(&value, 1);
    handle = runtime_->export_memory(stream_, array.data());
    void* memory = runtime_->import_memory(stream_, handle);
    std::byte got = {};
    runtime_
        ->copy(stream_, Buffer(&got, 1, DataType::uint8),
               ConstBuffer(memory, 1, DataType::uint8, Memory{device_, MemoryKind::device}))
        ->wait();
    EXPECT_EQ(got, value);
    runtime_->close_memory(stream_, memory);
  }
  (void)error_of([&] { (void)runtime_->import_memory(stream_, handle); }, ErrorCode::unsupported);
  handle[0] = std::byte{0};
  (void)error_of([&] { (void)runtime_->import_memory(stream_, handle); }, ErrorCode::invalid_argument);
  (void)error_of([&] { (void)runtime_->import_memory(stream_, {}); }, ErrorCode::invalid_argument);
  const DeviceArray shared(stream_, MemoryKind::shared, 64);
  expect_words(error_of([&] { (void)runtime_->export_memory(stream_, shared.data()); }, ErrorCode::unsupported),
               {"only device memory"});
}

}  // namespace
}  // namespace tutti::test

// Tests the fake driver through the real loader: it must notice the mistakes that fail on a real device, or the tests
// that use it prove nothing.
#include "fakes/level_zero_driver/fake_level_zero.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "support/devices/device_environment.hpp"
#include "support/devices/level_zero_application.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

std::string take_violations() {
  static const auto take = [] {
    void* driver = dlopen(TUTTI_TEST_LEVEL_ZERO_DRIVER, RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<decltype(&fake_level_zero_take_violations)>(
        dlsym(driver, "fake_level_zero_take_violations"));
  }();
  std::array<char, 4096> text = {};
  take(text.data(), text.size());
  return text.data();
}

class FakeLevelZero : public testing::Test {
 protected:
  // In a forked child, the driver would have no threads.
  FakeLevelZero() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
  ~FakeLevelZero() override { EXPECT_EQ(take_violations(), ""); }

  void expect_violation(ze_result_t result, ze_result_t expected, const std::string& words) {
    EXPECT_EQ(result, expected);
    EXPECT_NE(take_violations().find(words), std::string::npos) << words;
  }
  ze_result_t fill(ze_command_list_handle_t list, void* to, std::size_t bytes, ze_event_handle_t signal = nullptr,
                   ze_event_handle_t wait = nullptr) {
    const unsigned char value = 7;
    return zeCommandListAppendMemoryFill(list, to, &value, 1, bytes, signal, wait == nullptr ? 0 : 1, &wait);
  }

  LevelZeroApplication app_{first_device(0)};
};

TEST_F(FakeLevelZero, KeepsTheHostOutOfDeviceMemory) {
  auto* data = app_.device_memory(16);
  // NOLINTNEXTLINE: the test expects the fault
  EXPECT_DEATH(*static_cast<volatile float*>(data) = 1.0F, "");
  app_.free(data);
  EXPECT_DEATH(*static_cast<volatile float*>(data) = 1.0F, "");
}

TEST_F(FakeLevelZero, KeepsNoOrderThatNobodyAskedFor) {
  auto* data = app_.device_memory<unsigned char>(64);
  auto* seen = app_.host_memory<unsigned char>(64);
  const ze_event_handle_t gate = app_.event();
  // Both commands wait for the gate; the fake may run the second one first.
  std::fill_n(seen, 64, 1);
  EXPECT_EQ(fill(app_.list, data, 64, nullptr, gate), ZE_RESULT_SUCCESS);
  ze_event_handle_t awaited = gate;
  TUTTI_ZE(zeCommandListAppendMemoryCopy(app_.list, seen, data, 64, nullptr, 1, &awaited));
  TUTTI_ZE(zeEventHostSignal(gate));
  app_.finish();
  EXPECT_EQ(seen[0], 0) << "the copy must overtake the fill";
  // A barrier orders the two commands.
  EXPECT_EQ(fill(app_.list, data, 64), ZE_RESULT_SUCCESS);
  app_.barrier();
  app_.copy(seen, data, 64);
  app_.finish();
  EXPECT_EQ(seen[0], 7);
}

TEST_F(FakeLevelZero, HasListsOfOneEngineWaitTogether) {
  LevelZeroApplication same(first_device(0));
  LevelZeroApplication other(first_device(0), 0, 1);
  ze_event_handle_t gate = app_.event();
  TUTTI_ZE(zeCommandListAppendBarrier(app_.list, nullptr, 1, &gate));
  const ze_event_handle_t behind = same.event();
  const ze_event_handle_t beside = other.event();
  TUTTI_ZE(zeCommandListAppendBarrier(same.list, behind, 0, nullptr));
  TUTTI_ZE(zeCommandListAppendBarrier(other.list, beside, 0, nullptr));
  TUTTI_ZE(zeEventHostSynchronize(beside, UINT64_MAX));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(zeEventQueryStatus(behind), ZE_RESULT_NOT_READY);
  TUTTI_ZE(zeEventHostSignal(gate));
  TUTTI_ZE(zeEventHostSynchronize(behind, UINT64_MAX));
  app_.finish();
}

TEST_F(FakeLevelZero, NoticesMemoryThatIsNotThere) {
  auto* data = app_.device_memory<unsigned char>(64);
  expect_violation(fill(app_.list, data, 65), ZE_RESULT_ERROR_INVALID_ARGUMENT, "1 bytes beyond the end");
  LevelZeroApplication other(first_device(0));
  expect_violation(fill(other.list, data, 64), ZE_RESULT_ERROR_INVALID_ARGUMENT, "memory of another context");
  expect_violation(zeMemFree(other.context, data), ZE_RESULT_ERROR_INVALID_ARGUMENT, "memory of another context");
  app_.free(data);
  expect_violation(fill(app_.list, data, 64), ZE_RESULT_ERROR_INVALID_ARGUMENT, "memory that was freed");
  expect_violation(zeMemFree(app_.context, data), ZE_RESULT_ERROR_INVALID_ARGUMENT, "freed already");
}

TEST_F(FakeLevelZero, NoticesWhatIsGivenBackTooEarly) {
  auto* data = app_.device_memory<unsigned char>(64);
  const ze_event_handle_t gate = app_.event();
  const ze_event_handle_t end = app_.event();
  EXPECT_EQ(fill(app_.list, data, 64, end, gate), ZE_RESULT_SUCCESS);
  expect_violation(zeMemFree(app_.context, data), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "have not ended");
  expect_violation(zeEventDestroy(gate), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "have not ended");
  expect_violation(zeEventHostReset(end), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "have not ended");
  expect_violation(zeContextDestroy(app_.context), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "objects in it");
  EXPECT_EQ(zeEventHostSynchronize(end, 1'000'000), ZE_RESULT_NOT_READY);
  TUTTI_ZE(zeEventHostSignal(gate));
  TUTTI_ZE(zeEventHostSynchronize(end, UINT64_MAX));
  ze_kernel_timestamp_result_t times = {};
  expect_violation(zeEventQueryKernelTimestamp(end, &times), ZE_RESULT_ERROR_INVALID_ARGUMENT, "without timestamps");
}

TEST_F(FakeLevelZero, NoticesEventsThatWereNotReset) {
  auto* data = app_.device_memory<unsigned char>(64);
  const ze_event_handle_t end = app_.event();
  EXPECT_EQ(fill(app_.list, data, 64, end), ZE_RESULT_SUCCESS);
  TUTTI_ZE(zeEventHostSynchronize(end, UINT64_MAX));
  expect_violation(fill(app_.list, data, 64, end), ZE_RESULT_ERROR_INVALID_ARGUMENT, "not reset");
  TUTTI_ZE(zeEventHostReset(end));
  EXPECT_EQ(fill(app_.list, data, 64, end), ZE_RESULT_SUCCESS);
  TUTTI_ZE(zeEventHostSynchronize(end, UINT64_MAX));
}

TEST_F(FakeLevelZero, NoticesAListThatIsDestroyedAtWork) {
  auto* data = app_.device_memory<unsigned char>(64);
  const ze_event_handle_t gate = app_.event();
  ze_command_queue_desc_t queue = {};
  queue.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  ze_command_list_handle_t list = nullptr;
  TUTTI_ZE(zeCommandListCreateImmediate(app_.context, app_.device, &queue, &list));
  EXPECT_EQ(fill(list, data, 64, nullptr, gate), ZE_RESULT_SUCCESS);
  expect_violation(zeCommandListDestroy(list), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "1 commands that have not ended");
  expect_violation(fill(list, data, 64), ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "destroyed or never made");
}

TEST_F(FakeLevelZero, FailsAProcessThatDidWrong) {
  const auto wrong = [&] {
    (void)zeMemFree(app_.context, &app_);
    std::exit(0);
  };
  EXPECT_EXIT(wrong(), testing::ExitedWithCode(kFakeLevelZeroExitCode),
              "fake Level Zero driver: zeMemFree got a pointer that is not the beginning of any memory");
}

}  // namespace
}  // namespace tutti::test

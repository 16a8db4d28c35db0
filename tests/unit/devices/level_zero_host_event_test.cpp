// Host events that block queues of SYCL's Level Zero backend, on the fake driver and without SYCL. The fake driver ends
// the process with an error if it resets or destroys an event that commands still use.
#include "level_zero_host_event.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "support/devices/device_environment.hpp"
#include "support/devices/level_zero_application.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using sycl_device::HostEvent;

class LevelZeroHostEvent : public testing::Test {
 protected:
  /// Makes later commands wait for the event; returns an event that is signalled after that wait.
  ze_event_handle_t append_wait(const HostEvent& event) {
    ze_event_handle_t awaited = event.handle();
    const ze_event_handle_t passed = app_.event();
    TUTTI_ZE(zeCommandListAppendBarrier(app_.list, passed, 1, &awaited));
    return passed;
  }

  LevelZeroApplication app_{first_device(0)};
};

TEST_F(LevelZeroHostEvent, HoldsWhatComesLaterAgainAndAgain) {
  ASSERT_TRUE(HostEvent::is_possible(app_.device));
  HostEvent event(app_.context, app_.device);
  for (int round = 0; round < 3; ++round) {
    const ze_event_handle_t passed = append_wait(event);
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(zeEventQueryStatus(passed), ZE_RESULT_NOT_READY);
    event.set();
    EXPECT_EQ(zeEventHostSynchronize(passed, UINT64_MAX), ZE_RESULT_SUCCESS);
    event.unset();
  }
}

TEST_F(LevelZeroHostEvent, HoldsNothingOnceItIsSet) {
  HostEvent event(app_.context, app_.device);
  event.set();
  EXPECT_EQ(zeEventHostSynchronize(append_wait(event), UINT64_MAX), ZE_RESULT_SUCCESS);
}

}  // namespace
}  // namespace tutti::test

// The two kinds of gates that work on a CPU device: an OpenCL event, which the library uses, and a host task, which the
// library uses only on runtimes without host-settable events.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "support/devices/device_support.hpp"
#include "support/required_backends.hpp"
#include "support/system/watchdog.hpp"
#include "sycl_gates.hpp"
#include "tutti/sycl.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

// A program that uses SYCL directly must name the driver of its devices.
const int prepared = setenv("OCL_ICD_FILENAMES", TUTTI_TEST_CPU_DRIVER, 0);  // NOLINT

using Hold = std::unique_ptr<spi::DeviceGate> (*)(::sycl::queue&);

struct Axis {
  Hold hold;
  bool in_order;
  const char* name;
};

class SyclGate : public testing::TestWithParam<Axis> {};

TEST_P(SyclGate, HoldsWhatComesLaterAndNothingElse) {
  if (const std::string reason = why_no_device("sycl"); !reason.empty()) TUTTI_SKIP_OR_FAIL("sycl", reason);
  const ::sycl::device device = tutti::sycl::device(rank_devices("sycl")[0]);
  ::sycl::queue queue =
      GetParam().in_order ? ::sycl::queue(device, ::sycl::property::queue::in_order()) : ::sycl::queue(device);
  int* data = ::sycl::malloc_shared<int>(1, queue);
  const auto set = [&](int value) {
    return queue.submit([&](::sycl::handler& handler) { handler.fill(data, value, 1); });
  };
  const auto is_complete = [](const ::sycl::event& event) {
    return event.get_info<::sycl::info::event::command_execution_status>() ==
           ::sycl::info::event_command_status::complete;
  };
  ::sycl::event before = set(1);
  const auto gate = GetParam().hold(queue);
  before.wait();
  EXPECT_EQ(*data, 1);
  ::sycl::event after = set(2);
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(is_complete(after));
  EXPECT_EQ(*data, 1);
  gate->open();
  gate->open();
  after.wait();
  EXPECT_EQ(*data, 2);
  ::sycl::free(data, queue);
}

class SyclEventGate : public testing::TestWithParam<bool> {};

// Staging submits commands while the application waits for its result, which is not possible with a host task as gate.
TEST_P(SyclEventGate, LetsOthersSubmitWhileTheApplicationWaits) {
  if (const std::string reason = why_no_device("sycl"); !reason.empty()) TUTTI_SKIP_OR_FAIL("sycl", reason);
  arm_watchdog(100);
  const ::sycl::device device = tutti::sycl::device(rank_devices("sycl")[0]);
  ::sycl::queue queue = GetParam() ? ::sycl::queue(device, ::sycl::property::queue::in_order()) : ::sycl::queue(device);
  ::sycl::queue own(queue.get_context(), device, ::sycl::property::queue::in_order());
  int* data = ::sycl::malloc_shared<int>(2, queue);
  data[0] = 1;
  const auto gate = sycl_device::hold(queue);
  queue.submit([&](::sycl::handler& handler) { handler.memcpy(data + 1, data, sizeof(int)); });
  std::atomic<bool> is_over = false;
  std::thread application([&] {
    queue.wait();
    is_over = true;
  });
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(is_over);
  own.submit([&](::sycl::handler& handler) { handler.fill(data, 2, 1); }).wait();
  gate->open();
  application.join();
  EXPECT_EQ(data[1], 2);
  ::sycl::free(data, queue);
}

INSTANTIATE_TEST_SUITE_P(Queues, SyclEventGate, testing::Bool(),
                         [](const auto& axis) { return axis.param ? "in_order" : "out_of_order"; });

INSTANTIATE_TEST_SUITE_P(Kinds, SyclGate,
                         testing::Values(Axis{sycl_device::hold, true, "event_in_order"},
                                         Axis{sycl_device::hold, false, "event_out_of_order"},
                                         Axis{sycl_device::hold_by_host_task, true, "host_task_in_order"},
                                         Axis{sycl_device::hold_by_host_task, false, "host_task_out_of_order"}),
                         [](const auto& axis) { return std::string(axis.param.name); });

}  // namespace
}  // namespace tutti::test

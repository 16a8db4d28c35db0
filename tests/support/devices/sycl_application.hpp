#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <tutti/sycl.hpp>
#include <vector>

namespace tutti::test {

/// SYCL code of an application: a queue and two kernels. The SYCL runtime compiles the kernels, because the test itself
/// is built with a host compiler that cannot.
struct SyclApplication {
  explicit SyclApplication(Device device, bool in_order)
      : queue(tutti::sycl::device(device), properties(in_order)), kernels(build(queue)) {}

  static ::sycl::property_list properties(bool in_order) {
    if (in_order) return {::sycl::property::queue::in_order()};
    return {};
  }
  static ::sycl::kernel_bundle<::sycl::bundle_state::executable> build(const ::sycl::queue& queue) {
    namespace experimental = ::sycl::ext::oneapi::experimental;
    static const std::string source = R"(
      #include <sycl/ext/oneapi/free_function_queries.hpp>
      #include <sycl/ext/oneapi/kernel_properties/properties.hpp>
      namespace ex = sycl::ext::oneapi::experimental;
      extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((ex::single_task_kernel))
      void produce(float* data, unsigned long count, int rank) {
        for (unsigned long i = 0; i < count; ++i) data[i] = static_cast<float>(i % 1000) + 1000 * rank;
      }
      extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((ex::single_task_kernel))
      void consume(const float* data, float* result, unsigned long count) {
        for (unsigned long i = 0; i < count; ++i) result[i] = data[i] + 1;
      })";
    auto bundle = experimental::create_kernel_bundle_from_source(queue.get_context(),
                                                                 experimental::source_language::sycl, source);
    return experimental::build(bundle, std::vector{queue.get_device()});
  }
  template <typename... Arguments>
  ::sycl::event launch(const char* name, const std::vector<::sycl::event>& after, Arguments... arguments) {
    const ::sycl::kernel kernel = kernels.ext_oneapi_get_kernel(name);
    return queue.submit([&](::sycl::handler& handler) {
      handler.depends_on(after);
      handler.set_args(arguments...);
      handler.single_task(kernel);
    });
  }

  /// Polls the event. While a thread is in event::wait() for an event behind a host task, the runtime accepts no
  /// submission of another thread and may never run that host task.
  static void wait_for(const ::sycl::event& event) {
    using ::sycl::info::event_command_status;
    while (event.get_info<::sycl::info::event::command_execution_status>() != event_command_status::complete) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  ::sycl::queue queue;
  ::sycl::kernel_bundle<::sycl::bundle_state::executable> kernels;
};

}  // namespace tutti::test

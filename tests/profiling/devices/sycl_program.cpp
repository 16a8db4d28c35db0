// A SYCL program that knows how often it does everything. Two threads, a sub-device each; prints the device memory that
// it has got and the number of its kernels, copies and fills for the test to compare.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sycl/sycl.hpp>
#include <thread>
#include <vector>

namespace {

namespace experimental = sycl::ext::oneapi::experimental;

constexpr std::size_t kCount = 1000;

sycl::kernel make_kernel(const sycl::context& context, const sycl::device& device) {
  static const std::string source = R"(
    #include <sycl/ext/oneapi/free_function_queries.hpp>
    #include <sycl/ext/oneapi/kernel_properties/properties.hpp>
    namespace ex = sycl::ext::oneapi::experimental;
    extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((ex::single_task_kernel))
    void add_one(float* data, unsigned long count) {
      for (unsigned long i = 0; i < count; ++i) data[i] += 1;
    })";
  auto text = experimental::create_kernel_bundle_from_source(context, experimental::source_language::sycl, source);
  return experimental::build(text, std::vector{device}).ext_oneapi_get_kernel("add_one");
}

struct Work {
  sycl::queue queue;
  sycl::kernel* kernel;  ///< null: no kernels
  int rounds;

  void operator()() {
    auto* device = sycl::malloc_device<float>(kCount, queue);
    auto* shared = sycl::malloc_shared<float>(2 * kCount, queue);
    auto* host = sycl::malloc_host<float>(3 * kCount, queue);
    std::vector<float> ordinary(kCount, 1.0F);
    for (int i = 0; i < rounds; ++i) {
      queue.memcpy(device, ordinary.data(), kCount * sizeof(float)).wait();
      queue.memcpy(host, device, kCount * sizeof(float)).wait();
      queue.memcpy(shared + 10, host, 100).wait();
      queue.fill(device, 2.0F, kCount / 2).wait();
      if (kernel != nullptr) {
        queue.submit([&](sycl::handler& handler) {
          handler.set_args(device, static_cast<unsigned long>(kCount));
          handler.single_task(*kernel);
        });
        queue.wait();
      }
    }
    for (float* memory : {device, shared, host}) sycl::free(memory, queue);
  }
};

}  // namespace

/// usage: sycl_program ROUNDS kernels|copies profiled|plain
int main(int, char** arguments) {
  const int rounds = std::atoi(arguments[1]);
  const bool with_kernels = std::string(arguments[2]) == "kernels";
  sycl::property_list properties = {sycl::property::queue::in_order()};
  if (std::string(arguments[3]) == "profiled")
    properties = {sycl::property::queue::in_order(), sycl::property::queue::enable_profiling()};
  const sycl::device root(sycl::default_selector_v);
  std::vector<sycl::device> tiles;
  if (root.get_info<sycl::info::device::max_compute_units>() >= 2)
    tiles = root.create_sub_devices<sycl::info::partition_property::partition_equally>(
        root.get_info<sycl::info::device::max_compute_units>() / 2);
  if (tiles.size() < 2) {
    std::puts("no two sub-devices");
    return 77;
  }
  const sycl::context context(std::vector{tiles[0], tiles[1]});
  std::vector<sycl::kernel> kernels;
  for (int i = 0; with_kernels && i < 2; ++i)
    kernels.push_back(make_kernel(context, tiles[static_cast<std::size_t>(i)]));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 2; ++i) {
    threads.emplace_back(
        Work{sycl::queue(context, tiles[i], properties), with_kernels ? &kernels[i] : nullptr, rounds});
  }
  for (std::thread& thread : threads) thread.join();
  // An allocation that fails.
  const sycl::queue queue(context, tiles[0]);
  if (sycl::malloc_device(std::size_t{1} << 60U, queue) != nullptr) return 1;
  // An allocation that nobody frees.
  if (sycl::malloc_device(4096, queue) == nullptr) return 1;
  std::puts("done");
  return 0;
}

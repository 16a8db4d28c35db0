// Copies 1 MiB between memory of the host and of a SYCL device, one after the other; prints the median of their times
// in nanoseconds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sycl/sycl.hpp>
#include <vector>

int main(int, char** arguments) {
  constexpr std::size_t kBytes = std::size_t{1} << 20U;
  sycl::queue queue(sycl::default_selector_v,
                    {sycl::property::queue::in_order(), sycl::property::queue::enable_profiling()});
  auto* device = sycl::malloc_device<char>(kBytes, queue);
  auto* host = sycl::malloc_host<char>(kBytes, queue);
  std::vector<double> times;
  for (int i = 0; i < std::atoi(arguments[1]); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    queue.memcpy(device, host, kBytes).wait();
    times.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  std::printf("%.0f\n", times[times.size() / 2]);
  sycl::free(device, queue);
  sycl::free(host, queue);
  return 0;
}

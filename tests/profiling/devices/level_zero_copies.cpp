// Copies 1 MiB between memory of the host and of a Level Zero device, one after the other; prints the median of their
// times in nanoseconds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/devices/level_zero_application.hpp"

int main(int, char** arguments) {
  using namespace tutti::test;
  constexpr std::size_t kBytes = std::size_t{1} << 20U;
  LevelZeroApplication app(first_device(0));
  char* device = app.device_memory<char>(kBytes);
  std::vector<char> host(kBytes);
  const ze_event_handle_t event = app.event();
  std::vector<double> times;
  for (int i = 0; i < std::atoi(arguments[1]); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    TUTTI_ZE(zeCommandListAppendMemoryCopy(app.list, device, host.data(), kBytes, event, 0, nullptr));
    TUTTI_ZE(zeEventHostSynchronize(event, UINT64_MAX));
    TUTTI_ZE(zeEventHostReset(event));
    times.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  std::printf("%.0f\n", times[times.size() / 2]);
  return 0;
}

#include "support/system/watchdog.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

namespace tutti::test {
namespace {

// A signal handler reads this: plain memory that always ends with a 0, so the handler can print even a half-written
// text.
std::array<char, 512> activity = {"starting"};

void print(const char* text) { (void)!write(STDERR_FILENO, text, std::strlen(text)); }

void on_alarm(int) {
  print("FATAL: the deadline of the test passed during: ");
  print(activity.data());
  print("\n");
  _exit(3);
}

}  // namespace

void arm_watchdog(unsigned seconds) {
  struct sigaction action = {};
  action.sa_handler = on_alarm;
  sigaction(SIGALRM, &action, nullptr);
  alarm(seconds);
}

void set_activity(std::string_view text) noexcept {
  const std::size_t length = std::min(text.size(), activity.size() - 1);
  std::memcpy(activity.data(), text.data(), length);
  activity[length] = '\0';
}

}  // namespace tutti::test

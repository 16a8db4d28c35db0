#include "fakes/blocking_library.hpp"

#include <sched.h>

#include <atomic>
#include <ctime>
#include <string>

namespace {

volatile unsigned long work = 0;

/// With an object that has to be destroyed, the frame has an exception table.
void spin_without_throwing(const volatile bool* released, unsigned long rounds) noexcept {
  const std::string text = "blocking" + std::to_string(rounds);
  for (unsigned long i = 0; i < rounds && !*released; ++i) work = work + text.size();
}

void pass_through(void (*call)(const volatile bool*, unsigned long), const volatile bool* released) noexcept {
  const std::string text = "blocking" + std::to_string(work);
  while (!*released) call(released, text.size() * 1000);
}

std::atomic<int> guards = 0;

struct Guard {
  Guard() { ++guards; }
  ~Guard() { --guards; }
};

}  // namespace

extern "C" int blocking_spin(const volatile bool* released) {
  while (!*released) work = work + 1;
  return 0;
}

extern "C" int blocking_yield(const volatile bool* released) {
  while (!*released) sched_yield();
  return 0;
}

extern "C" int blocking_sleep(const volatile bool* released) {
  const timespec millisecond{0, 1'000'000};
  while (!*released) nanosleep(&millisecond, nullptr);
  return 0;
}

extern "C" int blocking_noexcept(const volatile bool* released) {
  pass_through(&spin_without_throwing, released);
  return 0;
}

extern "C" int blocking_with_guard(const volatile bool* released) {
  const Guard guard;
  while (!*released) work = work + 1;
  return 0;
}

extern "C" int guards_alive() { return guards; }

extern "C" int blocking_with_registers(const volatile bool* released) {
  unsigned long a = work + 1, b = a * 3, c = b * 5, d = c * 7, e = d * 11, f = e * 13, g = f * 17;
  while (!*released) {
    a += g, b ^= a, c += b, d ^= c, e += d, f ^= e, g += f;
  }
  work = a + b + c + d + e + f + g;
  return 0;
}

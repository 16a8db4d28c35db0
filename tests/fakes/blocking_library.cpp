#include "fakes/blocking_library.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
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

/// Nobody writes to it but blocking_wake().
std::array<int, 2>& the_pipe() {
  static std::array<int, 2> ends = [] {
    std::array<int, 2> made = {-1, -1};
    if (pipe(made.data()) != 0) made = {-1, -1};
    return made;
  }();
  return ends;
}

FILE* the_file() {
  static FILE* const file = fdopen(the_pipe()[0], "r");
  return file;
}

std::atomic<const volatile bool*> constructor_released = nullptr;
std::atomic<bool> is_in_constructor = false;

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

extern "C" int blocking_read(const volatile bool* released) {
  char letter = 0;
  while (!*released && read(the_pipe()[0], &letter, 1) >= 0) {
  }
  return 0;
}

extern "C" int blocking_condition(const volatile bool* released) {
  // Left as they are by an interrupted call, so each has its own.
  auto* const mutex = new pthread_mutex_t(PTHREAD_MUTEX_INITIALIZER);
  auto* const condition = new pthread_cond_t(PTHREAD_COND_INITIALIZER);
  pthread_mutex_lock(mutex);
  while (!*released) {
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    pthread_cond_timedwait(condition, mutex, &until);
  }
  pthread_mutex_unlock(mutex);
  delete condition;
  delete mutex;
  return 0;
}

extern "C" int blocking_fgets(const volatile bool* released) {
  std::array<char, 16> line{};
  while (!*released && fgets(line.data(), line.size(), the_file()) != nullptr) {
  }
  return 0;
}

extern "C" int blocking_open(const volatile bool* released) {
  constructor_released = released;
  return dlopen(TUTTI_TEST_BLOCKING_MODULE, RTLD_NOW | RTLD_LOCAL) == nullptr ? 1 : 0;
}

extern "C" void blocking_in_constructor() {
  const volatile bool* const released = constructor_released;
  is_in_constructor = true;
  while (released != nullptr && !*released) work = work + 1;
  is_in_constructor = false;
}

extern "C" bool blocking_holds_lock() {
  if (is_in_constructor) return true;
  if (ftrylockfile(the_file()) != 0) return true;
  funlockfile(the_file());
  return false;
}

extern "C" void blocking_wake() {
  if (write(the_pipe()[1], "\n", 1) != 1) std::perror("blocking_wake");
}

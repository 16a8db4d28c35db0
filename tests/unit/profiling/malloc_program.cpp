// A program whose malloc and free are recorded, from the first call of a process and in every thread: a recorder that
// allocated would never come back.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "session/recorder.hpp"

extern "C" void* __libc_malloc(std::size_t bytes);
extern "C" void __libc_free(void* memory);

namespace {

using namespace tutti::profiling;

thread_local bool counts = false;
thread_local long calls = 0;

void record_memory(Kind kind, std::size_t bytes) {
  if (!is_recording()) return;
  if (counts) ++calls;
  record({.kind = kind, .name = intern(counts ? "counted" : "other"), .bytes = bytes});
}

}  // namespace

void* malloc(std::size_t bytes) {
  record_memory(Kind::allocation, bytes);
  return __libc_malloc(bytes);
}
void free(void* memory) {
  record_memory(Kind::release, 0);
  __libc_free(memory);
}

int main() {
  std::vector<long> of_threads(8);
  std::vector<std::thread> threads;
  for (long& count : of_threads) {
    threads.emplace_back([&count] {
      counts = true;
      for (int i = 0; i < 1000; ++i) {
        void* volatile memory = std::malloc(static_cast<std::size_t>(i));
        std::free(memory);
      }
      counts = false;
      count = calls;
    });
  }
  for (std::thread& thread : threads) thread.join();
  long all = 0;
  for (const long count : of_threads) all += count;
  std::printf("%ld\n", all);
}

// A program whose blocks the test memory_source_test counts: memory_program SCENARIO [ARGUMENT...]. Compiled without
// knowledge of the allocator's functions, so that no call is optimised away.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

int number(const char* text) { return std::atoi(text); }

bool is_filled(const unsigned char* block, std::size_t bytes, unsigned char value) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (block[i] != value) return false;
  }
  return true;
}

// Per round: 7 allocations and 7 releases, and one block of 32 bytes that stays; see the test for the bytes.
void* round(void*) {
  void* kept = malloc(32);
  if (kept == nullptr) return nullptr;
  memset(kept, 7, 32);
  auto* zeros = static_cast<unsigned char*>(calloc(10, 10));
  if (!is_filled(zeros, 100, 0)) return nullptr;
  memset(zeros, 9, 100);
  auto* grown = static_cast<unsigned char*>(realloc(zeros, 100'000));
  if (!is_filled(grown, 100, 9)) return nullptr;
  auto* shrunk = static_cast<unsigned char*>(realloc(grown, 50));
  if (!is_filled(shrunk, 50, 9)) return nullptr;
  free(shrunk);
  free(nullptr);
  void* aligned = nullptr;
  if (posix_memalign(&aligned, 256, 1000) != 0 || reinterpret_cast<std::uintptr_t>(aligned) % 256 != 0) return nullptr;
  free(aligned);
  free(aligned_alloc(64, 128));
  free(memalign(512, 512));
  free(realloc(nullptr, 24));
  return kept;
}

struct Rounds {
  int count;
  bool well;
};

void* rounds(void* argument) {
  auto* wanted = static_cast<Rounds*>(argument);
  wanted->well = true;
  for (int i = 0; i < wanted->count; ++i) {
    if (round(nullptr) == nullptr) wanted->well = false;
  }
  return nullptr;
}

// count THREADS ROUNDS
int count(char** arguments) {
  constexpr int kMost = 16;
  pthread_t threads[kMost];
  Rounds wanted[kMost] = {};
  const int threads_wanted = number(arguments[0]) > kMost ? kMost : number(arguments[0]);
  for (int i = 0; i < threads_wanted; ++i) {
    wanted[i].count = number(arguments[1]);
    if (pthread_create(&threads[i], nullptr, rounds, &wanted[i]) != 0) return 2;
  }
  for (int i = 0; i < threads_wanted; ++i) {
    pthread_join(threads[i], nullptr);
    if (!wanted[i].well) return 3;
  }
  return 0;
}

// failures: calls that fail leave the blocks, errno and the counts as they were.
int failures(char**) {
  volatile std::size_t huge = SIZE_MAX / 2;
  void* block = malloc(40);
  errno = 0;
  if (malloc(huge) != nullptr || errno != ENOMEM) return 2;
  errno = 0;
  if (realloc(block, huge) != nullptr || errno != ENOMEM) return 3;
  errno = 0;
  if (calloc(huge, 4) != nullptr || errno != ENOMEM) return 4;
  void* aligned = nullptr;
  if (posix_memalign(&aligned, 3, 8) != EINVAL) return 5;
  errno = 123;
  free(block);
  free(malloc(8));
  return errno == 123 ? 0 : 6;
}

// mappings
int mappings(char**) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* large = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  void* kept = mmap(nullptr, 2 << 20, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  void* small = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  void* reserved = mmap(nullptr, 4 << 20, PROT_NONE, kFlags, -1, 0);
  if (large == MAP_FAILED || kept == MAP_FAILED || small == MAP_FAILED || reserved == MAP_FAILED) return 2;
  memset(kept, 1, 2 << 20);
  return munmap(large, 1 << 20) + munmap(small, 4096) + munmap(reserved, 4 << 20);
}

// library FILE N: the library allocates and keeps N blocks of 48 bytes.
int library(char** arguments) {
  void* handle = dlopen(arguments[0], RTLD_NOW);
  if (handle == nullptr) return 2;
  auto allocate = reinterpret_cast<void (*)(int)>(dlsym(handle, "allocate_blocks"));
  if (allocate == nullptr) return 3;
  allocate(number(arguments[1]));
  return 0;
}

// operators N
int operators(char** arguments) {
  for (int i = 0; i < number(arguments[0]); ++i) {
    auto* volatile one = new std::int64_t(i);
    auto* volatile many = new char[100];
    if (*one != i) return 2;
    delete one;
    delete[] many;
  }
  return 0;
}

std::atomic<bool> stops{false};

void* churn(void*) {
  while (!stops.load()) free(malloc(64));
  return nullptr;
}

// forks N: forks while other threads allocate; each child makes one round of its own.
int forks(char** arguments) {
  pthread_t threads[2];
  for (pthread_t& thread : threads) {
    if (pthread_create(&thread, nullptr, churn, nullptr) != 0) return 2;
  }
  int bad = 0;
  for (int i = 0; i < number(arguments[0]); ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(round(nullptr) == nullptr ? 1 : 0);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) ++bad;
  }
  stops = true;
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  return bad;
}

struct Scenario {
  const char* name;
  int (*run)(char** arguments);
};
constexpr Scenario kScenarios[] = {{"count", count},     {"failures", failures},   {"mappings", mappings},
                                   {"library", library}, {"operators", operators}, {"forks", forks}};

}  // namespace

int main(int argument_count, char** arguments) {
  for (const Scenario& scenario : kScenarios) {
    if (argument_count > 1 && strcmp(arguments[1], scenario.name) == 0) return scenario.run(arguments + 2);
  }
  return 64;
}

// Program that dispatch_benchmark measures: the same allreduce of oneCCL called directly and through tutti. The program
// links to oneCCL, and tutti uses the library that is already loaded, so that both call the same library on equal
// communicators. One rank is enough, because the instructions of oneCCL itself are not counted.
//
// usage: dispatch_probe_ccl direct|tutti CALLS     prints nanoseconds per call
//        dispatch_probe_ccl both CALLS             for callgrind: loops of few calls and of CALLS more, both ways
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <oneapi/ccl.hpp>
#include <string_view>

#include "dispatch_probe.hpp"
#include "tutti/tutti.hpp"

namespace {
// Allocations of this thread only, because oneCCL's own threads allocate at any time.
thread_local long allocations = 0;  // NOLINT
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

// callgrind collects these by name (--toggle-collect), so they must exist as functions with different first letters.
extern "C" {

[[gnu::noinline]] void direct_calls(long calls, const float* in, float* out, const ccl::communicator* comm) {
  for (long i = 0; i < calls; ++i) {
    ccl::allreduce(in, out, 4, ccl::datatype::float32, ccl::reduction::sum, *comm).wait();
  }
}

[[gnu::noinline]] void tutti_calls(long calls, const float* in, float* out, const tutti::Communicator* comm) {
  for (long i = 0; i < calls; ++i) comm->allreduce(tutti::ConstBuffer(in, 4), tutti::Buffer(out, 4));
}

}  // extern "C"

namespace {

template <typename Calls>
long allocations_of(const Calls& calls) {
  calls();  // the first use costs more
  const long before = allocations;
  calls();
  return allocations - before;
}

int measure(std::string_view way, long calls) {
  // tutti's communicator comes first, because it sets the environment variables of oneCCL.
  const tutti::Communicator comm =
      tutti::world({.config = tutti::Config().set("TUTTI_BACKEND", "ccl"), .name = "probe"});
  const ccl::communicator own = ccl::create_communicator(1, 0, ccl::create_main_kvs());
  const float in[4] = {1, 2, 3, 4};
  float out[4] = {};
  constexpr long kTrial = 20;
  const long theirs = allocations_of([&] { direct_calls(kTrial, in, out, &own); });
  const long ours = allocations_of([&] { tutti_calls(kTrial, in, out, &comm); });
  if (ours > theirs) {
    std::fprintf(stderr, "%ld calls allocated %ld times through tutti, %ld times directly\n", kTrial, ours, theirs);
    return 1;
  }
  const auto begin = std::chrono::steady_clock::now();
  if (way == "both") {
    for (const long count : {kFewCalls, kFewCalls + calls}) {
      direct_calls(count, in, out, &own);
      tutti_calls(count, in, out, &comm);
    }
  } else if (way == "direct") {
    direct_calls(calls, in, out, &own);
  } else {
    tutti_calls(calls, in, out, &comm);
  }
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
  std::printf("%.1f %s\n", time.count() / static_cast<double>(calls), std::string(comm.backend()).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    return measure(argv[1], std::atol(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

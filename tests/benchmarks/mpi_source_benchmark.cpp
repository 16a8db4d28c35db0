// Cost of the source of MPI calls per call, in one program: a function of MPI that does nothing, called through the
// source while it records and while it does not, against a call of the function itself.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "call_cost.hpp"
#include "session/recorder.hpp"

namespace {

using Allreduce = int (*)(const void*, void*, int, void*, void*, void*);
using Wait = int (*)(void*, void*);

}  // namespace

// Usage: mpi_source_benchmark LIBRARY-OF-STAND-IN; run with the source in LD_PRELOAD.
int main(int count, char** arguments) {
  if (count != 2) return 2;
  void* stand_in = dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL);
  if (stand_in == nullptr) return 2;
  const auto direct = reinterpret_cast<Allreduce>(dlsym(stand_in, "MPI_Allreduce"));
  const auto through = reinterpret_cast<Allreduce>(dlsym(RTLD_DEFAULT, "MPI_Allreduce"));
  const auto wait = reinterpret_cast<Wait>(dlsym(RTLD_DEFAULT, "MPI_Wait"));
  const auto init = reinterpret_cast<int (*)(int*, char***)>(dlsym(RTLD_DEFAULT, "MPI_Init"));
  if (through == direct || init == nullptr || init(&count, &arguments) != 0) return 2;
  // Handles of the MPICH ABI.
  void* const type = reinterpret_cast<void*>(std::uintptr_t{0x4c000405});
  void* const world = reinterpret_cast<void*>(std::uintptr_t{0x44000000});
  const double plain = call_cost_ns([&] { direct(nullptr, nullptr, 8, type, nullptr, world); });
  tutti::profiling::stop();
  const double off = call_cost_ns([&] { through(nullptr, nullptr, 8, type, nullptr, world); });
  const double off_wait = call_cost_ns([&] { wait(nullptr, nullptr); });
  if (!tutti::profiling::start()) return 3;
  const double on = call_cost_ns([&] { through(nullptr, nullptr, 8, type, nullptr, world); });
  const double on_wait = call_cost_ns([&] { wait(nullptr, nullptr); });
  const double clock = call_cost_ns([] { (void)tutti::profiling::now_ns(); });
  std::printf("allreduce: direct %.1f ns, not recording %.1f ns, recording %.1f ns\n", plain, off, on);
  std::printf("wait:      not recording %.1f ns, recording %.1f ns; reading the clock takes %.1f ns\n", off_wait,
              on_wait, clock);
  return 0;
}

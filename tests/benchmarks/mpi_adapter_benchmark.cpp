// Cost of calls that the MPI adapter passes on, in one program: functions of MPI that do nothing, called through the
// adapter, against a call of the function itself.
#include <dlfcn.h>

#include <cstdio>

#include "call_cost.hpp"

namespace {

using Collective = int (*)(const void*, void*, int, int, int, int);

// Handles of the MPICH ABI.
constexpr int kWorld = 0x44000000;
constexpr int kSelf = 0x44000001;
constexpr int kFloat = 0x4c00040a;
constexpr int kSum = 0x58000003;

double cost(Collective call, int comm, int elements) {
  float in = 1;
  float out = 0;
  return call_cost_ns([&] { call(&in, &out, elements, kFloat, kSum, comm); });
}

}  // namespace

// Usage: mpi_adapter_benchmark LIBRARY-OF-STAND-IN; run with the adapter in LD_PRELOAD.
int main(int count, char** arguments) {
  if (count != 2) return 2;
  void* stand_in = dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL);
  if (stand_in == nullptr) return 2;
  *static_cast<int*>(dlsym(stand_in, "stand_in_ranks")) = 2;
  const auto direct = reinterpret_cast<Collective>(dlsym(stand_in, "MPI_Allreduce"));
  const auto allreduce = reinterpret_cast<Collective>(dlsym(RTLD_DEFAULT, "MPI_Allreduce"));
  const auto scan = reinterpret_cast<Collective>(dlsym(RTLD_DEFAULT, "MPI_Scan"));
  const auto init = reinterpret_cast<int (*)(int*, char***)>(dlsym(RTLD_DEFAULT, "MPI_Init"));
  if (allreduce == direct || init == nullptr || init(&count, &arguments) != 0) return 2;
  const double plain = cost(direct, kWorld, 1);
  std::printf("direct %.1f ns\n", plain);
  std::printf("MPI_Scan, never served: %.1f ns more\n", cost(scan, kWorld, 1) - plain);
  std::printf("MPI_Allreduce of 4 bytes, too small for any type: %.1f ns more\n", cost(allreduce, kWorld, 1) - plain);
  std::printf("MPI_Allreduce of 32 KiB, too small for its type: %.1f ns more\n", cost(allreduce, kWorld, 8192) - plain);
  std::printf("MPI_Allreduce on MPI_COMM_SELF: %.1f ns more\n", cost(allreduce, kSelf, 1) - plain);
  return 0;
}

// Cost of calls that the MPI adapter passes on, in one program: functions of MPI that do nothing, called through the
// adapter, against a call of the function itself. The counts of instructions are those of valgrind's callgrind.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "call_cost.hpp"
#include "tutti/info.hpp"
#include "tutti/tuning.hpp"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name)
#endif

namespace {

using Reduction = int (*)(const void*, void*, int, int, int, int);
using Scatter = int (*)(const void*, void*, const int*, int, int, int);
using Broadcast = int (*)(void*, int, int, int, int);
using Allgather = int (*)(const void*, int, int, void*, int, int, int);
using Gather = int (*)(const void*, int, int, void*, int, int, int, int);

// Handles of the MPICH ABI.
constexpr int kWorld = 0x44000000;
constexpr int kSelf = 0x44000001;
constexpr int kFloat = 0x4c00040a;
constexpr int kSum = 0x58000003;

struct Case {
  const char* name;
  std::function<void()> call;
};

template <typename Function>
Function through(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

/// A table by which the native engine gains from 128 KiB on, and nothing below.
void write_tuning(const char* path) {
  std::ofstream file(path);
  const tutti::TuningMachine machine = tutti::this_tuning_machine();
  file << "tutti-tuning 1\ntutti " << tutti::version() << "\ncpu " << machine.cpu << "\ncores " << machine.cores
       << '\n';
  for (const char* row : {"allreduce host floating", "reduce_scatterv host floating", "broadcast host any",
                          "gather host any", "allgather host any"}) {
    file << "row " << row << " 2-2 0 128K 0 1\nuse mpi:mpich 1K:1\nuse native 1K:2\n";
    file << "row " << row << " 2-2 128K end 0 1\nuse native 128K:1\nuse mpi:mpich 128K:2\n";
  }
}

std::vector<Case> cases(void* stand_in) {
  const auto direct = reinterpret_cast<Reduction>(dlsym(stand_in, "MPI_Allreduce"));
  const auto allreduce = through<Reduction>("MPI_Allreduce");
  const auto scan = through<Reduction>("MPI_Scan");
  const auto broadcast = through<Broadcast>("MPI_Bcast");
  const auto allgather = through<Allgather>("MPI_Allgather");
  const auto gather = through<Gather>("MPI_Gather");
  const auto scatter = through<Scatter>("MPI_Reduce_scatter");
  static float in = 1;
  static float out = 0;
  static const int counts[] = {512, 512};
  return {
      {"direct", [=] { direct(&in, &out, 1, kFloat, kSum, kWorld); }},
      {"MPI_Scan", [=] { scan(&in, &out, 1, kFloat, kSum, kWorld); }},
      {"MPI_Allreduce of 4 B", [=] { allreduce(&in, &out, 1, kFloat, kSum, kWorld); }},
      {"MPI_Allreduce of 32 KiB", [=] { allreduce(&in, &out, 8192, kFloat, kSum, kWorld); }},
      {"MPI_Allreduce on MPI_COMM_SELF", [=] { allreduce(&in, &out, 1, kFloat, kSum, kSelf); }},
      {"MPI_Reduce_scatter of 4 KiB", [=] { scatter(&in, &out, counts, kFloat, kSum, kWorld); }},
      {"MPI_Bcast of 4 KiB", [=] { broadcast(&out, 1024, kFloat, 0, kWorld); }},
      {"MPI_Allgather of 4 KiB", [=] { allgather(&in, 512, kFloat, &out, 512, kFloat, kWorld); }},
      {"MPI_Gather of 4 KiB", [=] { gather(&in, 512, kFloat, &out, 512, kFloat, 0, kWorld); }},
  };
}

}  // namespace

// Usage: mpi_adapter_benchmark LIBRARY-OF-STAND-IN [--instructions] [TUNING-FILE-TO-WRITE]; run with the adapter in
// LD_PRELOAD. --instructions: for callgrind, 1000 calls and a dump of each case.
int main(int count, char** arguments) {
  if (count < 2) return 2;
  const bool counts_instructions = count > 2 && std::string_view(arguments[2]) == "--instructions";
  if (const int at = counts_instructions ? 3 : 2; at < count) {
    write_tuning(arguments[at]);
    setenv("TUTTI_TUNING", arguments[at], 1);
  } else {
    setenv("TUTTI_TUNING", "none", 1);
  }
  void* stand_in = dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL);
  if (stand_in == nullptr) return 2;
  *static_cast<int*>(dlsym(stand_in, "stand_in_ranks")) = 2;
  const auto init = through<int (*)(int*, char***)>("MPI_Init");
  const bool is_adapted = through<void*>("MPI_Allreduce") != dlsym(stand_in, "MPI_Allreduce");
  if (!is_adapted || init == nullptr || init(&count, &arguments) != 0) return 2;
  double plain = 0;
  for (const Case& one : cases(stand_in)) {
    if (counts_instructions) {
      one.call();  // the first finds the function
      CALLGRIND_ZERO_STATS;
      for (int i = 0; i < 1000; ++i) one.call();
      CALLGRIND_DUMP_STATS_AT(one.name);
      continue;
    }
    const double cost = call_cost_ns(one.call);
    if (plain == 0) plain = cost;
    std::printf("%s: %.1f ns%s\n", one.name, cost == plain ? cost : cost - plain, cost == plain ? "" : " more");
  }
  return 0;
}

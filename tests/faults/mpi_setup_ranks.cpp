// Ranks of mpi_setup_test: rank 1 fails while MPI is started or a communicator is made, in the way of the argument; the
// others print their error and exit with 7. The program stands before MPI as a preloaded tool does:
//   init    ends by SIGKILL at the beginning of MPI_Init
//   inside  ends by SIGKILL during MPI_Init
//   dup     ends by SIGKILL in MPI_Comm_dup
//   split   ends by SIGKILL in MPI_Comm_create_group
//   absent  never comes to world()
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>

#include "support/system/watchdog.hpp"
#include "tutti/tutti.hpp"

namespace {

using namespace std::chrono_literals;

std::string_view way;

int rank_of_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (const char* text = std::getenv(name)) return std::atoi(text);
  }
  return 0;
}

/// Makes the functions of the launcher's MPI visible, so that tutti finds those of this program before them.
bool load_mpi() {
  const char* const intel = std::getenv("I_MPI_HYDRA_UUID") != nullptr ? std::getenv("I_MPI_ROOT") : nullptr;
  const std::string file = intel != nullptr                                 ? std::string(intel) + "/lib/libmpi.so.12"
                           : std::getenv("OMPI_COMM_WORLD_RANK") != nullptr ? "libmpi.so.40"
                                                                            : "libmpich.so.12";
  return dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr;
}

void die_if(std::string_view reached) {
  if (way == reached && rank_of_launcher() == 1) std::raise(SIGKILL);
}

template <typename... Arguments>
int call(const char* function, Arguments... arguments) {
  return reinterpret_cast<int (*)(Arguments...)>(dlsym(RTLD_DEFAULT, function))(arguments...);
}

/// Until a folder that a variable names has as many files.
void wait_for_files(const char* variable, int wanted) {
  const std::filesystem::directory_iterator end;
  while (std::distance(std::filesystem::directory_iterator(std::getenv(variable)), end) < wanted) {
    std::this_thread::sleep_for(10ms);
  }
}

/// Rank 1 begins when the others have: of ranks that nobody has seen, nobody can see the end.
void begin_together() {
  const std::string mine = std::string(std::getenv("BEGUN")) + "/" + std::to_string(rank_of_launcher());
  std::ofstream(mine) << "begun\n";
  if (rank_of_launcher() == 1) wait_for_files("BEGUN", 3);
}

}  // namespace

// Handles are pointers or numbers, depending on the library; either is passed on in a register.
extern "C" {
int MPI_Init_thread(long count, long words, long required, long provided) {
  begin_together();
  die_if("init");
  const bool dies = way == "inside" && rank_of_launcher() == 1;
  if (dies) {
    std::thread([] {
      std::this_thread::sleep_for(30ms);
      std::raise(SIGKILL);
    }).detach();
  }
  const int code = call("PMPI_Init_thread", count, words, required, provided);
  while (dies) pause();
  return code;
}

int MPI_Comm_dup(long communicator, long copy) {
  die_if("dup");
  return call("PMPI_Comm_dup", communicator, copy);
}

int MPI_Comm_create_group(long communicator, long group, long tag, long result) {
  die_if("split");
  return call("PMPI_Comm_create_group", communicator, group, tag, result);
}
}

int main(int count, char** words) try {
  tutti::test::arm_watchdog(100);
  way = count > 1 ? words[1] : "";
  if (way == "absent" && rank_of_launcher() == 1) {
    wait_for_files("ENDED", 2);
    return 0;
  }
  if (!load_mpi()) {
    std::printf("no MPI: %s\n", dlerror());
    return 1;
  }
  const tutti::Communicator comm = tutti::world();
  if (way == "split") comm.split(0).barrier();
  comm.barrier();
  std::printf("rank %d of %d\n", comm.rank(), comm.size());
  return 0;
} catch (const tutti::Error& error) {
  std::printf("rank %d: %s: %s\n", rank_of_launcher(), std::string(name(error.code())).c_str(), error.what());
  std::fflush(stdout);
  try {
    (void)tutti::world();
    std::printf("rank %d: the library still works\n", rank_of_launcher());
  } catch (const tutti::Error& again) {
    std::printf("rank %d: again %s\n", rank_of_launcher(), std::string(name(again.code())).c_str());
  }
  return 7;
}

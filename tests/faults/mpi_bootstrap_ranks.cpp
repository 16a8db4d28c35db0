// Ranks of mpi_bootstrap_test. "absent": rank 1 starts MPI and never comes to world(). "plain": all come.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "support/system/watchdog.hpp"
#include "tutti/tutti.hpp"

namespace {

int rank_of_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (const char* text = std::getenv(name)) return std::atoi(text);
  }
  return 0;
}

/// Starts the MPI that the launcher belongs to, as an application does that does not use tutti.
bool start_mpi() {
  const bool is_open_mpi = std::getenv("OMPI_COMM_WORLD_RANK") != nullptr;
  void* library = dlopen(is_open_mpi ? "libmpi.so.40" : "libmpich.so.12", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return false;
  using Init = int (*)(int*, char***);
  const auto init = reinterpret_cast<Init>(dlsym(library, "MPI_Init"));
  return init != nullptr && init(nullptr, nullptr) == 0;
}

}  // namespace

int main(int count, char** words) try {
  tutti::test::arm_watchdog(60);
  const std::string_view mode = count > 1 ? words[1] : "plain";
  if (mode == "absent" && rank_of_launcher() == 1) {
    std::printf("rank 1 started MPI: %s\n", start_mpi() ? "yes" : "no");
    std::fflush(stdout);
    for (;;) pause();
  }
  const tutti::Communicator comm = tutti::world();
  std::printf("rank %d of %d\n", comm.rank(), comm.size());
  return 0;
} catch (const tutti::Error& error) {
  std::printf("%s: %s\n", std::string(tutti::name(error.code())).c_str(), error.what());
  return 7;
}

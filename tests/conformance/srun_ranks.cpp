// Ranks of srun_test: one sum over all ranks of the job.
#include <cstdio>
#include <string>

#include "support/system/watchdog.hpp"
#include "tutti/tutti.hpp"

int main() try {
  tutti::test::arm_watchdog(60);
  const tutti::Communicator comm = tutti::world();
  std::vector<int> one = {1};
  comm.allreduce(one);
  std::printf("rank %d of %d, sum %d\n", comm.rank(), comm.size(), one[0]);
  return one[0] == comm.size() ? 0 : 1;
} catch (const std::exception& error) {
  std::printf("error: %s\n", error.what());
  return 1;
}

// Every rank contributes its rank plus one; all ranks get the sum and the average, on any backend.
#include <cstdio>
#include <vector>

#include "tutti/tutti.hpp"

int main() {
  try {
    const tutti::Communicator comm = tutti::world();
    const std::vector<float> mine(4, static_cast<float>(comm.rank() + 1));
    std::vector<float> sum(mine.size());
    std::vector<float> average(mine.size());
    comm.allreduce(mine, sum);
    comm.allreduce(mine, average, {.op = tutti::Reduction::average});
    std::vector<int> ranks(static_cast<std::size_t>(comm.size()));
    comm.allgather(std::vector<int>{comm.rank()}, ranks);
    std::printf("rank %d of %d: sum %g, average %g, last rank %d\n", comm.rank(), comm.size(), sum[0], average[0],
                ranks.back());
  } catch (const tutti::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

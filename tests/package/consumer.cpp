// A program of a user of the library: a sum over two ranks.
#include <tutti/tutti.hpp>

#include <cstdio>
#include <thread>
#include <vector>

int main() {
  const std::vector<tutti::Communicator> group = tutti::local_group(2);
  std::vector<float> results(2);
  {
    std::vector<std::jthread> ranks;
    for (const tutti::Communicator& comm : group) {
      ranks.emplace_back([&comm, &results] {
        const auto rank = static_cast<std::size_t>(comm.rank());
        const float mine = comm.rank() == 0 ? 40.0F : 2.0F;
        comm.allreduce(tutti::ConstBuffer(&mine, 1), tutti::Buffer(&results[rank], 1));
      });
    }
  }
  std::printf("tutti %s: %g %g\n", std::string(tutti::version()).c_str(), results[0], results[1]);
  return results[0] == 42.0F && results[1] == 42.0F ? 0 : 1;
}

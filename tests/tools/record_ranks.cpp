// A program to record: a collective of each kind of interest, a sub-communicator, messages, a group, overlap.
//
// usage: record_ranks [exit CODE | die]     die: rank 1 is killed after its third operation
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "tutti/tutti.hpp"

int main(int count, char** words) {
  const std::string mode = count > 1 ? words[1] : "";
  const tutti::Communicator world = tutti::world();
  std::vector<float> data(256, 1.0F);
  for (int i = 0; i < 3; ++i) world.allreduce(tutti::Buffer(data), {.label = "grad"});
  if (mode == "die" && world.rank() == 1) std::raise(SIGKILL);
  std::vector<float> more(256);
  tutti::Work work = world.allreduce(data, more, {.op = tutti::Reduction::max, .async = true});
  std::vector<double> all(2 * static_cast<std::size_t>(world.size()));
  const std::vector<double> mine = {1, 2};
  world.allgather(mine, all);
  work.wait();
  const tutti::Communicator pair = world.split(0, -world.rank(), "turned");
  int number = 7;
  pair.broadcast(tutti::Buffer(&number, 1), 1);
  const int next = (world.rank() + 1) % world.size();
  const int before = (world.rank() + world.size() - 1) % world.size();
  world.group([&] {
    world.send(tutti::ConstBuffer(data.data(), 10), next);
    world.recv(tutti::Buffer(more.data(), 10), before);
  });
  world.barrier();
  return mode == "exit" && world.rank() == 0 ? std::atoi(words[2]) : 0;
}

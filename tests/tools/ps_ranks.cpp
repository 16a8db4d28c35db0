// Rank of a job for `tutti ps` and `tutti doctor`: rank 2 does not enter the last allreduce before a file appears.
//
// usage: ps_ranks FILE [fork|tensors]     fork: rank 1 has a child, which has a copy of its communicators
//                                         tensors: a named tensor of the Horovod engine in place of the allreduce
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "tutti/horovod.hpp"
#include "tutti/tutti.hpp"

namespace {

constexpr int kLate = 2;

void wait_for(const char* file) {
  while (!std::filesystem::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

int run_tensors(const char* file) {
  setenv("HOROVOD_STALL_CHECK_TIME_SECONDS", "1", 1);  // NOLINT(concurrency-mt-unsafe): no other thread runs
  const tutti::Communicator world = tutti::world({.name = "world"});
  const tutti::horovod::Engine engine(world);
  std::array<float, 16> data{};
  std::printf("rank %d pid %d.\n", world.rank(), static_cast<int>(getpid()));
  std::fflush(stdout);
  if (world.rank() == kLate) wait_for(file);
  engine.allreduce("gradient", data, data).wait();
  return 0;
}

int run(const char* file, bool forks) {
  const tutti::Communicator world = tutti::world({.name = "world"});
  std::array<float, 16> data{};
  for (int i = 0; i < 3; ++i) world.allreduce(tutti::Buffer(data.data(), data.size()));
  const tutti::Communicator second = world.duplicate("second");
  second.barrier();
  pid_t child = 0;
  if (forks && world.rank() == 1) {
    child = fork();
    if (child == 0) {
      // Without the pipes of the job, which would be kept open if the test fails.
      for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(descriptor);
      for (int i = 0; i < 12000 && !std::filesystem::exists(file); ++i) usleep(10000);
      _exit(0);
    }
    std::printf("child %d.\n", static_cast<int>(child));
  }
  std::printf("rank %d pid %d.\n", world.rank(), static_cast<int>(getpid()));
  std::fflush(stdout);
  if (world.rank() == kLate) wait_for(file);
  world.allreduce(tutti::Buffer(data.data(), data.size()));
  if (child > 0) waitpid(child, nullptr, 0);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    if (argc > 2 && std::strcmp(argv[2], "tensors") == 0) return run_tensors(argv[1]);
    return run(argv[1], argc > 2 && std::strcmp(argv[2], "fork") == 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

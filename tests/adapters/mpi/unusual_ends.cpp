// Programs that do what MPI does not like, chosen by the argument. The adapter must change nothing.
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

int rank = 0;
int size = 1;

void collectives(const char* when) {
  std::vector<int> data(100003, 1);
  for (int round = 0; round < 5; ++round) {
    std::vector<int> sums(data.size());
    MPI_Allreduce(data.data(), sums.data(), static_cast<int>(data.size()), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sums != std::vector<int>(data.size(), size)) {
      std::printf("wrong: allreduce %s\n", when);
      std::_Exit(3);
    }
  }
}

/// The child writes to the memory of the collectives, ends, and the parent goes on.
void fork_once() {
  std::vector<int> data(1 << 20, 7);
  collectives("before fork");
  const pid_t child = fork();
  if (child == 0) {
    for (int& one : data) one = 9;
    std::vector<int> own(1 << 20, 3);
    std::_Exit(own.back() == 3 && data.back() == 9 ? 5 : 6);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 5) std::printf("wrong: child ended with %d\n", status);
  for (const int one : data)
    if (one != 7) {
      std::printf("wrong: the child wrote to its parent's memory\n");
      break;
    }
  collectives("after fork");
}

void from_threads() {
  std::vector<std::thread> threads;
  std::vector<MPI_Comm> comms(4);
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (MPI_Comm comm : comms)
    threads.emplace_back([comm] {
      for (int round = 0; round < 100; ++round) {
        int one = 1;
        MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, comm);
        if (one != size) std::printf("wrong: allreduce of a thread\n");
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

}  // namespace

int main(int count, char** words) {
  const std::string mode = count > 1 ? words[1] : "";
  if (mode == "never_begun") return 0;
  int provided = 0;
  MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  collectives("at the beginning");
  if (mode == "fork") fork_once();
  if (mode == "threads") from_threads();
  std::printf("rank %d of %d reached its end\n", rank, size);
  std::fflush(stdout);
  // The launcher may end the other ranks as soon as one has left.
  MPI_Barrier(MPI_COMM_WORLD);
  if (mode == "abort") MPI_Abort(MPI_COMM_WORLD, 7);
  if (mode == "exit") return 0;
  MPI_Finalize();
  if (mode == "finalize_twice") MPI_Finalize();
  if (mode == "after_finalize") MPI_Barrier(MPI_COMM_WORLD);
  return 0;
}

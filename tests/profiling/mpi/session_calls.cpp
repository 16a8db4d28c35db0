// A program of MPI 4's sessions alone, with threads that call MPI at once; without MPI_Init.
#include <mpi.h>

#include <thread>
#include <vector>

#if MPI_VERSION >= 4
int main() {
  MPI_Session session;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
  if (MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session) != MPI_SUCCESS) return 1;
  MPI_Group world;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
  constexpr int kThreads = 3;
  std::vector<MPI_Comm> comms(kThreads);
  for (auto& comm : comms) MPI_Comm_create_from_group(world, "test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  std::vector<std::thread> threads;
  for (auto& comm : comms)
    threads.emplace_back([&comm] {
      int mine = 1;
      int sum = 0;
      for (int step = 0; step < 50; ++step) MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    });
  for (auto& thread : threads) thread.join();
  for (auto& comm : comms) MPI_Comm_free(&comm);
  MPI_Group_free(&world);
  MPI_Info_free(&info);
  return MPI_Session_finalize(&session);
}
#else
int main() { return 77; }
#endif

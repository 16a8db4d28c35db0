// Non-blocking operations on two or more ranks that are completed in every way that MPI has: nonblocking MILLISECONDS,
// the time that passes between issue and completion.
#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

std::chrono::milliseconds interval{0};
void compute() { std::this_thread::sleep_for(interval); }

int values[8] = {};
int sums[8] = {};

void sum(int place, MPI_Request* request) {
  MPI_Iallreduce(&values[place], &sums[place], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request);
}

// Nine operations of allreduce: by Wait, Test, Waitall (2), Waitany (2), Waitsome and Testsome (2), Testall.
void collectives() {
  MPI_Request requests[2];
  int index = 0;
  int done = 0;
  int indices[2];
  sum(0, &requests[0]);
  compute();
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);

  sum(0, &requests[0]);
  compute();
  while (done == 0) MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);

  for (int i = 0; i < 2; ++i) sum(i, &requests[i]);
  compute();
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

  for (int i = 0; i < 2; ++i) sum(i, &requests[i]);
  compute();
  for (int i = 0; i < 2; ++i) MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);

  for (int i = 0; i < 2; ++i) sum(i, &requests[i]);
  compute();
  int left = 2;
  MPI_Waitsome(2, requests, &done, indices, MPI_STATUSES_IGNORE);
  for (left -= done; left > 0; left -= done) MPI_Testsome(2, requests, &done, indices, MPI_STATUSES_IGNORE);

  sum(0, &requests[0]);
  compute();
  for (done = 0; done == 0;) MPI_Testall(1, requests, &done, MPI_STATUSES_IGNORE);
}

// Messages between neighbours: many at once, one whose request is freed, one that is never completed by its receiver.
void messages(int rank, int size) {
  constexpr int kMessages = 8;
  MPI_Request requests[2 * kMessages];
  const int right = (rank + 1) % size;
  const int left = (rank + size - 1) % size;
  for (int i = 0; i < kMessages; ++i) {
    MPI_Irecv(&sums[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Isend(&values[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[kMessages + i]);
  }
  compute();
  MPI_Waitall(2 * kMessages, requests, MPI_STATUSES_IGNORE);
  MPI_Isend(&values[0], 1, MPI_INT, right, 99, MPI_COMM_WORLD, &requests[0]);
  MPI_Request_free(&requests[0]);
  MPI_Irecv(&sums[0], 1, MPI_INT, left, 99, MPI_COMM_WORLD, &requests[1]);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
}

}  // namespace

int main(int count, char** arguments) {
  interval = std::chrono::milliseconds(std::atoi(arguments[1]));
  MPI_Init(&count, &arguments);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  collectives();
  messages(rank, size);
  return MPI_Finalize();
}

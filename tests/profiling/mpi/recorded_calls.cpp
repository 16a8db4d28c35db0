// One call of each kind that `tutti record` knows, and one that it does not know, on two ranks.
#include <mpi.h>

#include <vector>

namespace {

int rank = 0;
std::vector<double> in(64, 1), out(64);

void reductions() {
  MPI_Allreduce(in.data(), out.data(), 10, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, out.data(), 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce(in.data(), out.data(), 3, MPI_INT, MPI_PROD, 1, MPI_COMM_WORLD);
  const int counts[] = {2, 3};
  MPI_Reduce_scatter(in.data(), out.data(), counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter_block(in.data(), out.data(), 5, MPI_LONG, MPI_BOR, MPI_COMM_WORLD);
  struct Place {
    double value;
    int index;
  };
  std::vector<Place> places(4), best(4);
  // tutti has no such type and operation: as many bytes are summed up.
  MPI_Allreduce(places.data(), best.data(), 2, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  MPI_Scan(in.data(), out.data(), 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

void movements() {
  MPI_Datatype strided;
  MPI_Type_vector(3, 2, 4, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  MPI_Bcast(out.data(), 1, strided, 0, MPI_COMM_WORLD);
  MPI_Type_free(&strided);
  const int counts[] = {1, 2};
  const int places[] = {0, 1};
  MPI_Allgather(in.data(), 3, MPI_LONG, out.data(), 3, MPI_LONG, MPI_COMM_WORLD);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out.data(), 4, MPI_INT, MPI_COMM_WORLD);
  MPI_Allgatherv(in.data(), counts[rank], MPI_INT, out.data(), counts, places, MPI_INT, MPI_COMM_WORLD);
  MPI_Gather(in.data(), 6, MPI_SHORT, out.data(), 6, MPI_SHORT, 1, MPI_COMM_WORLD);
  MPI_Gatherv(rank == 0 ? MPI_IN_PLACE : in.data(), counts[rank], MPI_INT, out.data(), counts, places, MPI_INT, 0,
              MPI_COMM_WORLD);
  MPI_Scatter(in.data(), 7, MPI_BYTE, out.data(), 7, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Scatterv(in.data(), counts, places, MPI_INT, out.data(), counts[rank], MPI_INT, 1, MPI_COMM_WORLD);
  MPI_Alltoall(in.data(), 8, MPI_FLOAT, out.data(), 8, MPI_FLOAT, MPI_COMM_WORLD);
  const int equal[] = {rank + 1, rank + 1};  // to each; from rank r come r + 1
  MPI_Alltoallv(in.data(), equal, places, MPI_INT, out.data(), counts, places, MPI_INT, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

void messages() {
  const int other = 1 - rank;
  MPI_Request requests[2];
  MPI_Status status;
  // The receiver has room for more than is sent, and another type for it.
  if (rank == 0) {
    MPI_Send(in.data(), 9, MPI_INT, 1, 5, MPI_COMM_WORLD);
  } else {
    MPI_Recv(out.data(), 100, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &status);
  }
  MPI_Sendrecv(in.data(), 2, MPI_INT, other, 1, out.data(), 2, MPI_INT, other, 1, MPI_COMM_WORLD, &status);
  MPI_Send(in.data(), 2, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  MPI_Irecv(out.data(), 16, MPI_INT, other, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(in.data(), 4, MPI_INT, other, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Iallreduce(in.data(), out.data(), 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &requests[0]);
  MPI_Wait(&requests[0], &status);
}

// Rank 0 receives from any source and of any tag, and ignores all statuses.
void messages_of_any_source() {
  constexpr int kMessages = 6;
  if (rank == 1) {
    for (int tag = 10; tag < 10 + kMessages; ++tag) MPI_Send(in.data(), 3, MPI_INT, 0, tag, MPI_COMM_WORLD);
    return;
  }
  MPI_Request requests[2];
  int index = 0;
  int done = 0;
  const auto receive = [](MPI_Request* request) {
    MPI_Irecv(out.data(), 64, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, request);
  };
  MPI_Recv(out.data(), 64, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  receive(&requests[0]);
  receive(&requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  receive(&requests[0]);
  MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE);
  receive(&requests[0]);
  while (done == 0) MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
  receive(&requests[0]);
  MPI_Waitsome(1, requests, &done, &index, MPI_STATUSES_IGNORE);
}

}  // namespace

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  reductions();
  movements();
  messages();
  messages_of_any_source();
  MPI_Comm turned;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
  MPI_Comm_set_name(turned, "turned");
  MPI_Bcast(out.data(), 1, MPI_INT, 0, turned);
  MPI_Comm_free(&turned);
  return MPI_Finalize();
}

// Makes random MPI calls: random_calls SEED STEPS. Ranks draw from the same sequence, so that collectives match.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

std::mt19937 drawn;
int draw(int below) { return static_cast<int>(drawn() % static_cast<unsigned>(below)); }

struct Room {
  std::vector<double> send = std::vector<double>(1 << 16), receive = std::vector<double>(1 << 16);
  void* in() { return send.data(); }
  void* out() { return receive.data(); }
};
Room room;

struct World {
  MPI_Comm comm;
  int rank = 0, size = 1;
  explicit World(MPI_Comm of) : comm(of) {
    MPI_Comm_rank(of, &rank);
    MPI_Comm_size(of, &size);
  }
};

MPI_Datatype type_of(int choice) {
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_FLOAT, MPI_LONG};
  return types[choice];
}

// Counts that differ per rank, some 0, and their displacements.
struct Parts {
  std::vector<int> counts, places;
  explicit Parts(int ranks) {
    int place = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      counts.push_back(draw(4) == 0 ? 0 : draw(50));
      places.push_back(place);
      place += counts.back();
    }
  }
};

void reduce(const World& w, int count, MPI_Datatype type) {
  const int root = draw(w.size);
  MPI_Request request;
  switch (draw(7)) {
    case 0:
      MPI_Allreduce(room.in(), room.out(), count, type, MPI_SUM, w.comm);
      break;
    case 1:
      MPI_Allreduce(MPI_IN_PLACE, room.out(), count, type, MPI_MAX, w.comm);
      break;
    case 2:
      MPI_Reduce(room.in(), room.out(), count, type, MPI_SUM, root, w.comm);
      break;
    case 3:
      MPI_Scan(room.in(), room.out(), count, type, MPI_SUM, w.comm);
      break;
    case 4:
      MPI_Exscan(room.in(), room.out(), count, type, MPI_SUM, w.comm);
      break;
    case 5:
      MPI_Reduce_scatter_block(room.in(), room.out(), count, type, MPI_SUM, w.comm);
      break;
    default:
      MPI_Iallreduce(room.in(), room.out(), count, type, MPI_SUM, w.comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

void gather(const World& w, int count, MPI_Datatype type) {
  const int root = draw(w.size);
  const bool in_place = draw(2) == 0;
  const void* mine = in_place && root == w.rank ? MPI_IN_PLACE : room.in();
  switch (draw(5)) {
    case 0:
      MPI_Gather(mine, count, type, room.out(), count, type, root, w.comm);
      break;
    case 1:
      MPI_Scatter(room.in(), count, type, room.out(), count, type, root, w.comm);
      break;
    case 2:
      MPI_Allgather(in_place ? MPI_IN_PLACE : room.in(), count, type, room.out(), count, type, w.comm);
      break;
    case 3:
      MPI_Alltoall(in_place ? MPI_IN_PLACE : room.in(), count, type, room.out(), count, type, w.comm);
      break;
    default:
      MPI_Bcast(room.out(), count, type, root, w.comm);
  }
}

void gather_arrays(const World& w, MPI_Datatype type) {
  const int root = draw(w.size);
  const bool in_place = draw(2) == 0;
  const Parts parts(w.size);
  const int own = parts.counts[static_cast<std::size_t>(w.rank)];
  const int* counts = parts.counts.data();
  const int* places = parts.places.data();
  const void* mine = in_place && root == w.rank ? MPI_IN_PLACE : room.in();
  // Each rank sends the same to all in alltoallv: what rank r receives are the counts of r.
  const std::vector<int> equal(static_cast<std::size_t>(w.size), draw(20));
  std::vector<int> bytes;
  for (int rank = 0; rank < w.size; ++rank) bytes.push_back(rank * 1024);
  const std::vector<MPI_Datatype> types(static_cast<std::size_t>(w.size), type);
  switch (draw(6)) {
    case 0:
      MPI_Gatherv(mine, own, type, room.out(), counts, places, type, root, w.comm);
      break;
    case 1:
      MPI_Scatterv(room.in(), counts, places, type, room.out(), own, type, root, w.comm);
      break;
    case 2:
      MPI_Allgatherv(in_place ? MPI_IN_PLACE : room.in(), own, type, room.out(), counts, places, type, w.comm);
      break;
    case 3:
      MPI_Reduce_scatter(room.in(), room.out(), counts, type, MPI_SUM, w.comm);
      break;
    case 4:
      MPI_Alltoallv(in_place ? MPI_IN_PLACE : room.in(), equal.data(), bytes.data(), type, room.out(), equal.data(),
                    bytes.data(), type, w.comm);
      break;
    default:
      MPI_Alltoallw(room.in(), equal.data(), bytes.data(), types.data(), room.out(), equal.data(), bytes.data(),
                    types.data(), w.comm);
  }
}

void message(const World& w, int count, MPI_Datatype type) {
  const int right = (w.rank + 1) % w.size;
  const int left = (w.rank + w.size - 1) % w.size;
  MPI_Request requests[2];
  int done = 0;
  switch (draw(4)) {
    case 0:
      MPI_Sendrecv(room.in(), count, type, right, 1, room.out(), count, type, left, 1, w.comm, MPI_STATUS_IGNORE);
      break;
    case 1:
      MPI_Irecv(room.out(), count, type, left, 2, w.comm, &requests[0]);
      MPI_Isend(room.in(), count, type, right, 2, w.comm, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      break;
    case 2:
      MPI_Irecv(room.out(), count, type, left, 3, w.comm, &requests[0]);
      MPI_Send(room.in(), count, type, right, 3, w.comm);
      for (done = 0; done == 0;) MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
      break;
    default:
      MPI_Send(room.in(), count, type, MPI_PROC_NULL, 4, w.comm);
      MPI_Recv(room.out(), count, type, MPI_PROC_NULL, 4, w.comm, MPI_STATUS_IGNORE);
      MPI_Iprobe(MPI_ANY_SOURCE, 99, w.comm, &done, MPI_STATUS_IGNORE);
  }
}

void communicators(const World& w) {
  MPI_Comm made;
  MPI_Comm_split(w.comm, draw(3) == 0 ? 0 : w.rank % 2, -w.rank, &made);
  const World part(made);
  reduce(part, draw(100), MPI_INT);
  MPI_Barrier(made);
  MPI_Comm_free(&made);
  MPI_Comm_dup(w.comm, &made);
  MPI_Request request;
  MPI_Ibarrier(made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&made);
}

void types_and_topology(const World& w) {
  MPI_Datatype strided;
  MPI_Type_vector(1 + draw(5), 1 + draw(3), 4, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  MPI_Bcast(room.out(), draw(10), strided, 0, w.comm);
  MPI_Type_free(&strided);  // the next one may get the same handle with another size
  MPI_Comm ring;
  const int periodic = 1;
  MPI_Cart_create(w.comm, 1, &w.size, &periodic, 0, &ring);
  const int count = draw(30);
  MPI_Neighbor_alltoall(room.in(), count, MPI_FLOAT, room.out(), count, MPI_FLOAT, ring);
  MPI_Comm_free(&ring);
}

void one_sided(const World& w) {
  MPI_Win window;
  MPI_Win_create(room.out(), 1 << 16, 1, MPI_INFO_NULL, w.comm, &window);
  MPI_Win_fence(0, window);
  const int count = draw(100);
  MPI_Put(room.in(), count, MPI_INT, (w.rank + 1) % w.size, 0, count, MPI_INT, window);
  MPI_Win_fence(0, window);
  MPI_Get(room.in(), count, MPI_INT, (w.rank + 1) % w.size, 0, count, MPI_INT, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

// The forms for large counts, where the MPI has them.
void large_forms([[maybe_unused]] const World& w, [[maybe_unused]] int count, [[maybe_unused]] MPI_Datatype type) {
#if MPI_VERSION >= 4
  const std::vector<MPI_Count> counts(static_cast<std::size_t>(w.size), count / 8);
  std::vector<MPI_Aint> places;
  for (int rank = 0; rank < w.size; ++rank) places.push_back(MPI_Aint{rank} * (count / 8));
  MPI_Allreduce_c(room.in(), room.out(), count, type, MPI_SUM, w.comm);
  MPI_Allgatherv_c(room.in(), count / 8, type, room.out(), counts.data(), places.data(), type, w.comm);
  MPI_Alltoallv_c(room.in(), counts.data(), places.data(), type, room.out(), counts.data(), places.data(), type,
                  w.comm);
  MPI_Reduce_scatter_c(room.in(), room.out(), counts.data(), type, MPI_SUM, w.comm);
#endif
}

void failures(const World& w) {
  if (MPI_Send(room.in(), 1, MPI_INT, w.size + 5, 0, w.comm) == MPI_SUCCESS) std::abort();
  if (MPI_Bcast(room.in(), -1, MPI_INT, 0, w.comm) == MPI_SUCCESS) std::abort();
  if (MPI_Send(room.in(), 1, MPI_DATATYPE_NULL, w.rank, 0, w.comm) == MPI_SUCCESS) std::abort();
}

}  // namespace

int main(int count, char** arguments) {
  drawn.seed(static_cast<unsigned>(std::atoi(arguments[1])));
  MPI_Init(&count, &arguments);
  const World world(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int step = std::atoi(arguments[2]); step > 0; --step) {
    const int elements = draw(5) == 0 ? 0 : draw(1000);
    const MPI_Datatype type = type_of(draw(4));
    switch (draw(10)) {
      case 0:
        failures(world);
        break;
      case 1:
        communicators(world);
        break;
      case 2:
        types_and_topology(world);
        break;
      case 3:
        one_sided(world);
        break;
      case 4:
        message(world, elements, type);
        break;
      case 5:
        gather_arrays(world, type);
        break;
      case 6:
        gather(world, elements, type);
        break;
      case 7:
        large_forms(world, elements, type);
        break;
      default:
        reduce(world, elements, type);
    }
  }
  return MPI_Finalize();
}

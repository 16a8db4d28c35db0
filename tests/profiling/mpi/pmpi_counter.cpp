// A second counter of MPI calls, preloaded after the source, so that both see the same calls. Independent of it: typed
// functions from the library's own mpi.h, written by hand. Writes a line per function into COUNTER_FILE.<rank> when MPI
// ends: name, calls, calls that failed, bytes of the others, tests that found nothing.
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct Count {
  std::uint64_t calls = 0, errors = 0, bytes = 0, idle = 0;
};
std::mutex mutex;
std::map<std::string, Count>& counts() {
  static auto& all = *new std::map<std::string, Count>;
  return all;
}

int add(const char* name, int error, std::uint64_t bytes = 0, bool idle = false) {
  const std::lock_guard lock(mutex);
  Count& count = counts()[name];
  ++count.calls;
  if (error != MPI_SUCCESS) ++count.errors;
  if (error == MPI_SUCCESS) count.bytes += bytes;
  if (idle) ++count.idle;
  return error;
}

std::uint64_t size_of(MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return static_cast<std::uint64_t>(size);
}
int ranks_of(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return size;
}
int rank_in(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}
template <typename Count>
std::uint64_t total(const Count* values, int number, MPI_Datatype type) {
  std::uint64_t sum = 0;
  // A rank that only receives from another group has no counts.
  for (int index = 0; values != nullptr && index < number; ++index) sum += static_cast<std::uint64_t>(values[index]);
  return sum * size_of(type);
}
std::uint64_t to(int peer, std::int64_t count, MPI_Datatype type) {
  return peer == MPI_PROC_NULL ? 0 : static_cast<std::uint64_t>(count) * size_of(type);
}
// Evaluated after a success only: a failed call may have an invalid type.
#define BYTES(expression) (error == MPI_SUCCESS ? static_cast<std::uint64_t>(expression) : 0)

}  // namespace

extern "C" {

#define PLAIN(name, parameters, arguments) \
  int MPI_##name parameters { return add("MPI_" #name, PMPI_##name arguments); }
#define MESSAGE(name, parameters, arguments, bytes) \
  int MPI_##name parameters {                       \
    const int error = PMPI_##name arguments;        \
    return add("MPI_" #name, error, BYTES(bytes));  \
  }
// Both forms of a function: S is the suffix, C the type of counts.
#define COUNTED(S, C)                                                                                                \
  MESSAGE(Send##S, (const void* b, C n, MPI_Datatype t, int p, int g, MPI_Comm c), (b, n, t, p, g, c), to(p, n, t))  \
  MESSAGE(Ssend##S, (const void* b, C n, MPI_Datatype t, int p, int g, MPI_Comm c), (b, n, t, p, g, c), to(p, n, t)) \
  MESSAGE(Recv##S, (void* b, C n, MPI_Datatype t, int p, int g, MPI_Comm c, MPI_Status* s), (b, n, t, p, g, c, s),   \
          to(p, n, t))                                                                                               \
  MESSAGE(Isend##S, (const void* b, C n, MPI_Datatype t, int p, int g, MPI_Comm c, MPI_Request* r),                  \
          (b, n, t, p, g, c, r), to(p, n, t))                                                                        \
  MESSAGE(Irecv##S, (void* b, C n, MPI_Datatype t, int p, int g, MPI_Comm c, MPI_Request* r), (b, n, t, p, g, c, r), \
          to(p, n, t))                                                                                               \
  MESSAGE(Sendrecv##S,                                                                                               \
          (const void* b, C n, MPI_Datatype t, int p, int g, void* b2, C n2, MPI_Datatype t2, int p2, int g2,        \
           MPI_Comm c, MPI_Status* s),                                                                               \
          (b, n, t, p, g, b2, n2, t2, p2, g2, c, s), to(p, n, t))                                                    \
  MESSAGE(Bcast##S, (void* b, C n, MPI_Datatype t, int r, MPI_Comm c), (b, n, t, r, c), n* size_of(t))               \
  MESSAGE(Reduce##S, (const void* b, void* o, C n, MPI_Datatype t, MPI_Op op, int r, MPI_Comm c),                    \
          (b, o, n, t, op, r, c), n* size_of(t))                                                                     \
  MESSAGE(Allreduce##S, (const void* b, void* o, C n, MPI_Datatype t, MPI_Op op, MPI_Comm c), (b, o, n, t, op, c),   \
          n* size_of(t))                                                                                             \
  MESSAGE(Scan##S, (const void* b, void* o, C n, MPI_Datatype t, MPI_Op op, MPI_Comm c), (b, o, n, t, op, c),        \
          n* size_of(t))                                                                                             \
  MESSAGE(Exscan##S, (const void* b, void* o, C n, MPI_Datatype t, MPI_Op op, MPI_Comm c), (b, o, n, t, op, c),      \
          n* size_of(t))                                                                                             \
  MESSAGE(Iallreduce##S, (const void* b, void* o, C n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request* r),       \
          (b, o, n, t, op, c, r), n* size_of(t))                                                                     \
  MESSAGE(Reduce_scatter_block##S, (const void* b, void* o, C n, MPI_Datatype t, MPI_Op op, MPI_Comm c),             \
          (b, o, n, t, op, c), n* size_of(t) * static_cast<std::uint64_t>(ranks_of(c)))                              \
  MESSAGE(Reduce_scatter##S, (const void* b, void* o, const C* n, MPI_Datatype t, MPI_Op op, MPI_Comm c),            \
          (b, o, n, t, op, c), total(n, ranks_of(c), t))                                                             \
  MESSAGE(Gather##S, (const void* b, C n, MPI_Datatype t, void* b2, C n2, MPI_Datatype t2, int r, MPI_Comm c),       \
          (b, n, t, b2, n2, t2, r, c), b == MPI_IN_PLACE ? n2 * size_of(t2) : n * size_of(t))                        \
  MESSAGE(Scatter##S, (const void* b, C n, MPI_Datatype t, void* b2, C n2, MPI_Datatype t2, int r, MPI_Comm c),      \
          (b, n, t, b2, n2, t2, r, c),                                                                               \
          r == rank_in(c) ? n * size_of(t) * static_cast<std::uint64_t>(ranks_of(c)) : n2 * size_of(t2))             \
  MESSAGE(Allgather##S, (const void* b, C n, MPI_Datatype t, void* b2, C n2, MPI_Datatype t2, MPI_Comm c),           \
          (b, n, t, b2, n2, t2, c), b == MPI_IN_PLACE ? n2 * size_of(t2) : n * size_of(t))                           \
  MESSAGE(Alltoall##S, (const void* b, C n, MPI_Datatype t, void* b2, C n2, MPI_Datatype t2, MPI_Comm c),            \
          (b, n, t, b2, n2, t2, c),                                                                                  \
          static_cast<std::uint64_t>(ranks_of(c)) * (b == MPI_IN_PLACE ? n2 * size_of(t2) : n * size_of(t)))

// Array forms: D is the type of displacements.
#define ARRAYS(S, C, D)                                                                                                \
  MESSAGE(Gatherv##S,                                                                                                  \
          (const void* b, C n, MPI_Datatype t, void* b2, const C* n2, const D* d, MPI_Datatype t2, int r, MPI_Comm c), \
          (b, n, t, b2, n2, d, t2, r, c), b == MPI_IN_PLACE ? n2[rank_in(c)] * size_of(t2) : n * size_of(t))           \
  MESSAGE(Scatterv##S,                                                                                                 \
          (const void* b, const C* n, const D* d, MPI_Datatype t, void* b2, C n2, MPI_Datatype t2, int r, MPI_Comm c), \
          (b, n, d, t, b2, n2, t2, r, c), r == rank_in(c) ? total(n, ranks_of(c), t) : n2 * size_of(t2))               \
  MESSAGE(Allgatherv##S,                                                                                               \
          (const void* b, C n, MPI_Datatype t, void* b2, const C* n2, const D* d, MPI_Datatype t2, MPI_Comm c),        \
          (b, n, t, b2, n2, d, t2, c), b == MPI_IN_PLACE ? n2[rank_in(c)] * size_of(t2) : n * size_of(t))              \
  MESSAGE(Alltoallv##S,                                                                                                \
          (const void* b, const C* n, const D* d, MPI_Datatype t, void* b2, const C* n2, const D* d2, MPI_Datatype t2, \
           MPI_Comm c),                                                                                                \
          (b, n, d, t, b2, n2, d2, t2, c), b == MPI_IN_PLACE ? total(n2, ranks_of(c), t2) : total(n, ranks_of(c), t))

COUNTED(, int)
ARRAYS(, int, int)
#if MPI_VERSION >= 4
COUNTED(_c, MPI_Count)
ARRAYS(_c, MPI_Count, MPI_Aint)
#endif

int MPI_Alltoallw(const void* b, const int* n, const int* d, const MPI_Datatype* t, void* b2, const int* n2,
                  const int* d2, const MPI_Datatype* t2, MPI_Comm c) {
  const int error = PMPI_Alltoallw(b, n, d, t, b2, n2, d2, t2, c);
  std::uint64_t sum = 0;
  // In place there are no counts of this side; between two groups they are those of the other group.
  int is_inter = 0;
  PMPI_Comm_test_inter(c, &is_inter);
  const bool has_counts = b != MPI_IN_PLACE && n != nullptr && is_inter == 0;
  for (int rank = 0; error == MPI_SUCCESS && has_counts && rank < ranks_of(c); ++rank)
    sum += static_cast<std::uint64_t>(n[rank]) * size_of(t[rank]);
  return add("MPI_Alltoallw", error, sum);
}
MESSAGE(Put, (const void* b, int n, MPI_Datatype t, int p, MPI_Aint d, int n2, MPI_Datatype t2, MPI_Win w),
        (b, n, t, p, d, n2, t2, w), to(p, n, t))
MESSAGE(Get, (void* b, int n, MPI_Datatype t, int p, MPI_Aint d, int n2, MPI_Datatype t2, MPI_Win w),
        (b, n, t, p, d, n2, t2, w), to(p, n, t))
MESSAGE(Neighbor_alltoall, (const void* b, int n, MPI_Datatype t, void* b2, int n2, MPI_Datatype t2, MPI_Comm c),
        (b, n, t, b2, n2, t2, c), 2 * n * size_of(t))  // programs here have topologies of one dimension

PLAIN(Barrier, (MPI_Comm c), (c))
PLAIN(Ibarrier, (MPI_Comm c, MPI_Request* r), (c, r))
PLAIN(Wait, (MPI_Request * r, MPI_Status* s), (r, s))
PLAIN(Waitall, (int n, MPI_Request* r, MPI_Status* s), (n, r, s))
PLAIN(Comm_rank, (MPI_Comm c, int* r), (c, r))
PLAIN(Comm_size, (MPI_Comm c, int* n), (c, n))
PLAIN(Comm_dup, (MPI_Comm c, MPI_Comm* n), (c, n))
PLAIN(Comm_split, (MPI_Comm c, int colour, int key, MPI_Comm* n), (c, colour, key, n))
PLAIN(Comm_free, (MPI_Comm * c), (c))
PLAIN(Comm_set_errhandler, (MPI_Comm c, MPI_Errhandler h), (c, h))
PLAIN(Cart_create, (MPI_Comm c, int n, const int* d, const int* p, int r, MPI_Comm* o), (c, n, d, p, r, o))
PLAIN(Type_vector, (int n, int l, int s, MPI_Datatype t, MPI_Datatype* o), (n, l, s, t, o))
PLAIN(Type_commit, (MPI_Datatype * t), (t))
PLAIN(Type_free, (MPI_Datatype * t), (t))
PLAIN(Win_create, (void* b, MPI_Aint n, int d, MPI_Info i, MPI_Comm c, MPI_Win* w), (b, n, d, i, c, w))
PLAIN(Win_fence, (int a, MPI_Win w), (a, w))
PLAIN(Win_free, (MPI_Win * w), (w))
PLAIN(Init, (int* n, char*** a), (n, a))
PLAIN(Init_thread, (int* n, char*** a, int r, int* p), (n, a, r, p))

int MPI_Test(MPI_Request* r, int* flag, MPI_Status* s) {
  const int error = PMPI_Test(r, flag, s);
  return add("MPI_Test", error, 0, *flag == 0);
}
int MPI_Iprobe(int p, int g, MPI_Comm c, int* flag, MPI_Status* s) {
  const int error = PMPI_Iprobe(p, g, c, flag, s);
  return add("MPI_Iprobe", error, 0, *flag == 0);
}

int MPI_Finalize() {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int error = add("MPI_Finalize", PMPI_Finalize());
  const char* name = std::getenv("COUNTER_FILE");
  if (name == nullptr) return error;
  FILE* file = std::fopen((std::string(name) + "." + std::to_string(rank)).c_str(), "w");
  for (const auto& [function, count] : counts())
    std::fprintf(file, "%s %ju %ju %ju %ju\n", function.c_str(), static_cast<std::uintmax_t>(count.calls),
                 static_cast<std::uintmax_t>(count.errors), static_cast<std::uintmax_t>(count.bytes),
                 static_cast<std::uintmax_t>(count.idle));
  std::fclose(file);
  return error;
}

}  // extern "C"

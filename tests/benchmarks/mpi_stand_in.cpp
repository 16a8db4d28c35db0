// An MPI that does nothing, with the MPICH ABI, for the cost of calls alone.
#include <cstdint>
#include <cstring>

extern "C" {
#define EXPORT [[gnu::visibility("default")]] int
/// Size of MPI_COMM_WORLD; a benchmark may set it.
EXPORT stand_in_ranks = 1;
EXPORT MPI_Init(int*, char***) { return 0; }
EXPORT PMPI_Initialized(int* flag) { return *flag = 1, 0; }
EXPORT PMPI_Finalized(int* flag) { return *flag = 0, 0; }
EXPORT MPI_Allreduce(const void*, void*, int, int, int, int) { return 0; }
EXPORT MPI_Bcast(void*, int, int, int, int) { return 0; }
EXPORT MPI_Gather(const void*, int, int, void*, int, int, int, int) { return 0; }
EXPORT MPI_Allgather(const void*, int, int, void*, int, int, int) { return 0; }
EXPORT MPI_Reduce_scatter(const void*, void*, const int*, int, int, int) { return 0; }
EXPORT PMPI_Get_library_version(char* text, int* length) {
  std::strcpy(text, "MPICH Version: 4.0.2");
  return *length = static_cast<int>(std::strlen(text)), 0;
}
EXPORT MPI_Wait(void*, void*) { return 0; }
EXPORT PMPI_Type_size_x(int, std::int64_t* size) { return *size = 4, 0; }
EXPORT PMPI_Comm_rank(int, int* rank) { return *rank = 0, 0; }
EXPORT PMPI_Comm_size(int comm, int* size) { return *size = comm == 0x44000001 ? 1 : stand_in_ranks, 0; }
EXPORT MPI_Scan(const void*, void*, int, int, int, int) { return 0; }
EXPORT PMPI_Comm_test_inter(int, int* is_inter) { return *is_inter = 0, 0; }
EXPORT PMPI_Comm_create_keyval(void*, void*, int* keyval, void*) { return *keyval = 1, 0; }
EXPORT PMPI_Comm_set_attr(int, int, void*) { return 0; }
EXPORT PMPI_Comm_dup(int comm, int* copy) { return *copy = comm, 0; }
/// All ranks give the bytes of this one.
EXPORT PMPI_Allgather(const void* in, int bytes, int, void* out, int, int, int) {
  for (int rank = 0; rank < stand_in_ranks; ++rank)
    std::memcpy(static_cast<char*>(out) + rank * bytes, in, static_cast<std::size_t>(bytes));
  return 0;
}
}

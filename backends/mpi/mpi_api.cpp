#include "mpi_api.hpp"

#include <string>

#include "mpi_types.hpp"
#include "tutti/error.hpp"

namespace tutti::mpi {
namespace {

constexpr std::string_view kLibrary = "MPI";

// member, blocking name, non-blocking name
#define TUTTI_MPI_COUNTED_CALLS(X)                                     \
  X(allreduce, Allreduce, Iallreduce)                                  \
  X(allgather, Allgather, Iallgather)                                  \
  X(allgatherv, Allgatherv, Iallgatherv)                               \
  X(reduce_scatter_block, Reduce_scatter_block, Ireduce_scatter_block) \
  X(reduce_scatter, Reduce_scatter, Ireduce_scatter)                   \
  X(broadcast, Bcast, Ibcast)                                          \
  X(reduce, Reduce, Ireduce)                                           \
  X(gather, Gather, Igather)                                           \
  X(gatherv, Gatherv, Igatherv)                                        \
  X(scatter, Scatter, Iscatter)                                        \
  X(scatterv, Scatterv, Iscatterv)                                     \
  X(alltoall, Alltoall, Ialltoall)                                     \
  X(alltoallv, Alltoallv, Ialltoallv)                                  \
  X(send, Send, Isend)                                                 \
  X(recv, Recv, Irecv)

// member, name
#define TUTTI_MPI_OTHER_CALLS(X)              \
  X(init_thread, Init_thread)                 \
  X(initialized, Initialized)                 \
  X(query_thread, Query_thread)               \
  X(is_thread_main, Is_thread_main)           \
  X(finalize, Finalize)                       \
  X(finalized, Finalized)                     \
  X(comm_rank, Comm_rank)                     \
  X(comm_size, Comm_size)                     \
  X(comm_dup, Comm_dup)                       \
  X(comm_idup, Comm_idup)                     \
  X(comm_free, Comm_free)                     \
  X(comm_group, Comm_group)                   \
  X(comm_create_group, Comm_create_group)     \
  X(comm_set_errhandler, Comm_set_errhandler) \
  X(group_incl, Group_incl)                   \
  X(group_free, Group_free)                   \
  X(get_elements_x, Get_elements_x)           \
  X(op_create, Op_create)                     \
  X(reduce_local, Reduce_local)               \
  X(error_string, Error_string)               \
  X(test, Test)                               \
  X(wait, Wait)                               \
  X(waitall, Waitall)

// The signatures in the table must equal those in the mpi.h of this ABI.
#define TUTTI_CHECK(member, plain, immediate)                                                        \
  static_assert(std::is_same_v<decltype(&MPI_##plain), decltype(Calls<int, int>::member)::Pointer>); \
  static_assert(std::is_same_v<decltype(&MPI_##immediate), decltype(Calls<int, int, MPI_Request*>::member)::Pointer>);
TUTTI_MPI_COUNTED_CALLS(TUTTI_CHECK)
#undef TUTTI_CHECK

template <typename Function>
bool fill(spi::VendorFunction<Function>& function, std::string_view name, const SymbolLookup& lookup) {
  void* address = lookup(name.data());
  function.set(reinterpret_cast<Function>(address));
  return address != nullptr;
}

template <typename Function>
void require(spi::VendorFunction<Function>& function, std::string_view name, const SymbolLookup& lookup) {
  if (fill(function, name, lookup)) return;
  throw Error(ErrorCode::backend_unavailable,
              "the MPI library has no function " + std::string(name) +
                  "; an MPI-3 library is needed (set TUTTI_MPI_LIBRARY to its file)",
              "mpi");
}

template <typename Function>
void set_name(spi::VendorFunction<Function>& function, std::string_view name) {
  function = spi::VendorFunction<Function>(kLibrary, name);
}

Handles find_handles(const SymbolLookup& lookup) {
  return {predefined_handle<MPI_Comm>(lookup, TUTTI_MPI_HANDLE(ompi_mpi_comm_world, MPI_COMM_WORLD)),
          predefined_handle<MPI_Comm>(lookup, TUTTI_MPI_HANDLE(ompi_mpi_comm_self, MPI_COMM_SELF)),
          predefined_handle<MPI_Comm>(lookup, TUTTI_MPI_HANDLE(ompi_mpi_comm_null, MPI_COMM_NULL)),
          predefined_handle<MPI_Request>(lookup, TUTTI_MPI_HANDLE(ompi_request_null, MPI_REQUEST_NULL)),
          predefined_handle<MPI_Errhandler>(lookup, TUTTI_MPI_HANDLE(ompi_mpi_errors_return, MPI_ERRORS_RETURN)),
          predefined_handle<MPI_Info>(lookup, TUTTI_MPI_HANDLE(ompi_mpi_info_null, MPI_INFO_NULL)),
          predefined_handle<MPI_Datatype>(lookup, TUTTI_MPI_HANDLE(ompi_mpi_byte, MPI_BYTE))};
}

}  // namespace

Api::Api() {
#define TUTTI_NAME(member, plain, immediate)       \
  set_name(blocking.member, "MPI_" #plain);        \
  set_name(nonblocking.member, "MPI_" #immediate); \
  set_name(large.member, "MPI_" #plain "_c");      \
  set_name(large_nonblocking.member, "MPI_" #immediate "_c");
  TUTTI_MPI_COUNTED_CALLS(TUTTI_NAME)
#undef TUTTI_NAME
  set_name(query_cuda_support, "MPIX_Query_cuda_support");
  set_name(query_ze_support, "MPIX_Query_ze_support");
  set_name(blocking.barrier, "MPI_Barrier");
  set_name(nonblocking.barrier, "MPI_Ibarrier");
#define TUTTI_NAME(member, plain) set_name(member, "MPI_" #plain);
  TUTTI_MPI_OTHER_CALLS(TUTTI_NAME)
#undef TUTTI_NAME
}

Api::Api(const SymbolLookup& lookup) : Api() {
  has_large_counts = true;
#define TUTTI_LOOK_UP(member, plain, immediate)                                           \
  require(blocking.member, blocking.member.name(), lookup);                               \
  require(nonblocking.member, nonblocking.member.name(), lookup);                         \
  has_large_counts = fill(large.member, large.member.name(), lookup) && has_large_counts; \
  has_large_counts = fill(large_nonblocking.member, large_nonblocking.member.name(), lookup) && has_large_counts;
  TUTTI_MPI_COUNTED_CALLS(TUTTI_LOOK_UP)
#undef TUTTI_LOOK_UP
  require(blocking.barrier, blocking.barrier.name(), lookup);
  require(nonblocking.barrier, nonblocking.barrier.name(), lookup);
#define TUTTI_LOOK_UP(member, plain) require(member, member.name(), lookup);
  TUTTI_MPI_OTHER_CALLS(TUTTI_LOOK_UP)
#undef TUTTI_LOOK_UP
  fill(query_cuda_support, query_cuda_support.name(), lookup);
  fill(query_ze_support, query_ze_support.name(), lookup);
  handles = find_handles(lookup);
}

}  // namespace tutti::mpi

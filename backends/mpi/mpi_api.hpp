#pragma once

#include <mpi.h>

#include <functional>
#include <string_view>
#include <type_traits>

#include "launch/mpi_launch.hpp"
#include "tutti/spi/instrument.hpp"

/// Every call into MPI goes through this table. It is filled at run time, so no MPI symbol is linked, the observer sees
/// every call, and a test can substitute its own functions.
namespace tutti::mpi {

#if defined(OPEN_MPI)
inline constexpr Abi kAbi = Abi::openmpi;
#elif defined(MPICH) || defined(MPICH_VERSION) || defined(I_MPI_VERSION)
inline constexpr Abi kAbi = Abi::mpich;
#else
#error "mpi.h is neither that of Open MPI nor one of the MPICH ABI"
#endif

/// Address of a symbol of the library, or null.
using SymbolLookup = std::function<void*(const char*)>;

/// The data-moving calls in one of their four flavours: blocking or not (Tail is then MPI_Request*), with int or with
/// MPI-4's 64-bit counts. One definition of each signature serves all four.
template <typename Count, typename Displacement, typename... Tail>
struct Calls {
  template <typename... Arguments>
  using Function = spi::VendorFunction<int (*)(Arguments..., Tail...)>;
  using Receive = spi::VendorFunction<
      std::conditional_t<sizeof...(Tail) == 0, int (*)(void*, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status*),
                         int (*)(void*, Count, MPI_Datatype, int, int, MPI_Comm, Tail...)>>;

  Function<const void*, void*, Count, MPI_Datatype, MPI_Op, MPI_Comm> allreduce;
  Function<const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, MPI_Comm> allgather;
  Function<const void*, Count, MPI_Datatype, void*, const Count*, const Displacement*, MPI_Datatype, MPI_Comm>
      allgatherv;
  Function<const void*, void*, Count, MPI_Datatype, MPI_Op, MPI_Comm> reduce_scatter_block;
  Function<const void*, void*, const Count*, MPI_Datatype, MPI_Op, MPI_Comm> reduce_scatter;
  Function<void*, Count, MPI_Datatype, int, MPI_Comm> broadcast;
  Function<const void*, void*, Count, MPI_Datatype, MPI_Op, int, MPI_Comm> reduce;
  Function<const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, int, MPI_Comm> gather;
  Function<const void*, Count, MPI_Datatype, void*, const Count*, const Displacement*, MPI_Datatype, int, MPI_Comm>
      gatherv;
  Function<const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, int, MPI_Comm> scatter;
  Function<const void*, const Count*, const Displacement*, MPI_Datatype, void*, Count, MPI_Datatype, int, MPI_Comm>
      scatterv;
  Function<const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, MPI_Comm> alltoall;
  Function<const void*, const Count*, const Displacement*, MPI_Datatype, void*, const Count*, const Displacement*,
           MPI_Datatype, MPI_Comm>
      alltoallv;
  Function<const void*, Count, MPI_Datatype, int, int, MPI_Comm> send;
  Receive recv;
  /// Has no count, so only the flavours with int counts set it.
  Function<MPI_Comm> barrier;
};

/// Result of MPIX_Query_*_support: 0 is no, any other value is yes.
enum class Answer : int { no = 0 };

}  // namespace tutti::mpi

template <>
inline constexpr bool tutti::spi::is_result_code<tutti::mpi::Answer> = false;

namespace tutti::mpi {

/// Handles of MPI's predefined objects: addresses in the library with Open MPI, numbers with MPICH.
struct Handles {
  MPI_Comm comm_world;
  MPI_Comm comm_self;
  MPI_Comm comm_null;
  MPI_Request request_null;
  MPI_Errhandler errors_return;
  MPI_Info info_null;
  MPI_Datatype byte;
};

struct Api {
  /// Looks up all functions and handles. Throws Error{backend_unavailable} naming the first that is missing.
  explicit Api(const SymbolLookup& lookup);
  /// Sets no function: for tests, which set those they need.
  Api();

  Calls<int, int> blocking;
  Calls<int, int, MPI_Request*> nonblocking;
  Calls<MPI_Count, MPI_Aint> large;
  Calls<MPI_Count, MPI_Aint, MPI_Request*> large_nonblocking;
  /// Whether the library has all of MPI-4's functions with 64-bit counts.
  bool has_large_counts = false;

  /// Extensions that a library may lack.
  spi::VendorFunction<Answer (*)()> query_cuda_support;
  spi::VendorFunction<Answer (*)()> query_ze_support;

  spi::VendorFunction<decltype(&MPI_Init_thread)> init_thread;
  spi::VendorFunction<decltype(&MPI_Initialized)> initialized;
  spi::VendorFunction<decltype(&MPI_Query_thread)> query_thread;
  spi::VendorFunction<decltype(&MPI_Is_thread_main)> is_thread_main;
  spi::VendorFunction<decltype(&MPI_Finalize)> finalize;
  spi::VendorFunction<decltype(&MPI_Finalized)> finalized;
  spi::VendorFunction<decltype(&MPI_Comm_rank)> comm_rank;
  spi::VendorFunction<decltype(&MPI_Comm_size)> comm_size;
  spi::VendorFunction<decltype(&MPI_Comm_dup)> comm_dup;
  spi::VendorFunction<decltype(&MPI_Comm_idup)> comm_idup;
  spi::VendorFunction<decltype(&MPI_Comm_free)> comm_free;
  spi::VendorFunction<decltype(&MPI_Comm_group)> comm_group;
  spi::VendorFunction<decltype(&MPI_Comm_create_group)> comm_create_group;
  spi::VendorFunction<decltype(&MPI_Comm_set_errhandler)> comm_set_errhandler;
  spi::VendorFunction<decltype(&MPI_Group_incl)> group_incl;
  spi::VendorFunction<decltype(&MPI_Group_free)> group_free;
  spi::VendorFunction<decltype(&MPI_Get_elements_x)> get_elements_x;
  spi::VendorFunction<decltype(&MPI_Op_create)> op_create;
  spi::VendorFunction<decltype(&MPI_Reduce_local)> reduce_local;
  spi::VendorFunction<decltype(&MPI_Error_string)> error_string;
  spi::VendorFunction<decltype(&MPI_Test)> test;
  spi::VendorFunction<decltype(&MPI_Wait)> wait;
  spi::VendorFunction<decltype(&MPI_Waitall)> waitall;

  Handles handles = {};
};

}  // namespace tutti::mpi

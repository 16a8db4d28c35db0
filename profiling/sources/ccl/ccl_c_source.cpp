// Calls of oneCCL's C interface by any program: every function of oneapi/ccl.h 2022.2 that libccl.so.2 has. It is
// NCCL's interface in another spelling, and its types have the same numbers.
#include "sources/ccl/ccl_library.hpp"
#include "sources/common/handle_library.hpp"
#include "sources/nccl/nccl_types.hpp"

namespace tutti::profiling::ccl_c {

using interpose::RealFunction;
using nccl::Comm;
using nccl::DataType;
using nccl::RedOp;
using nccl::Stream;
using nccl::type_of;

namespace {

constexpr int kInvalidUsage = 5;

struct UniqueId {
  alignas(1) char data[4096];
};

using Library = HandleLibrary<OneCcl>;
using Call = Library::Call;

int checked(Call& call, int result) noexcept { return Library::checked(call, result); }

void describe(Call& call, std::string_view name, std::size_t count, DataType type, Comm comm, bool blocks) noexcept {
  Library::describe(call, name, count, type_of(type), comm, blocks);
}
void created(int result, const Comm* comm, const UniqueId& id, int rank, std::size_t size) noexcept {
  Library::created(result, comm, bytes_key(&id, sizeof(id)), rank, static_cast<int>(size));
}
void split(int result, Comm parent, int color, const Comm* made) noexcept {
  const std::uint64_t key = Library::child_key(Library::communicator_of(parent), color);
  if (result == 0 && made != nullptr) (void)Library::communicator_of(*made, key);
}
void removed(Comm comm) noexcept { Library::communicators().remove(comm); }

}  // namespace

#define TUTTI_CCL_C TUTTI_HANDLE_FUNCTION
#define TUTTI_CCL_C_CALL(name, purpose, parameters, arguments) TUTTI_CCL_C(name, purpose, parameters, arguments, , )

// clang-format off
TUTTI_CCL_C(onecclAllReduce, operation,
            (void* in, void* out, std::size_t count, DataType type, RedOp op, Comm comm, Stream stream),
            (in, out, count, type, op, comm, stream), describe(call, "allreduce", count, type, comm, false), )
TUTTI_CCL_C(onecclReduce, operation,
            (const void* in, void* out, std::size_t count, DataType type, RedOp op, int root, Comm comm, Stream stream),
            (in, out, count, type, op, root, comm, stream), describe(call, "reduce", count, type, comm, false), )
TUTTI_CCL_C(onecclBroadcast, operation,
            (const void* in, void* out, std::size_t count, DataType type, int root, Comm comm, Stream stream),
            (in, out, count, type, root, comm, stream), describe(call, "broadcast", count, type, comm, false), )
TUTTI_CCL_C(onecclReduceScatter, operation,
            (const void* in, void* out, std::size_t count, DataType type, RedOp op, Comm comm, Stream stream),
            (in, out, count, type, op, comm, stream), describe(call, "reduce_scatter", count, type, comm, true), )
TUTTI_CCL_C(onecclAllGather, operation,
            (const void* in, void* out, std::size_t count, DataType type, Comm comm, Stream stream),
            (in, out, count, type, comm, stream), describe(call, "allgather", count, type, comm, true), )
TUTTI_CCL_C(onecclAllToAll, operation,
            (const void* in, void* out, std::size_t count, DataType type, Comm comm, Stream stream),
            (in, out, count, type, comm, stream), describe(call, "alltoall", count, type, comm, true), )
TUTTI_CCL_C(onecclSend, operation,
            (const void* in, std::size_t count, DataType type, int peer, Comm comm, Stream stream),
            (in, count, type, peer, comm, stream), describe(call, "send", count, type, comm, false), )
TUTTI_CCL_C(onecclRecv, operation,
            (void* out, std::size_t count, DataType type, int peer, Comm comm, Stream stream),
            (out, count, type, peer, comm, stream), describe(call, "recv", count, type, comm, false), )
TUTTI_CCL_C_CALL(onecclGroupStart, operation, (), ())
TUTTI_CCL_C_CALL(onecclGroupEnd, operation, (), ())

TUTTI_CCL_C_CALL(onecclGetVersion, setup, (int* version), (version))
TUTTI_CCL_C_CALL(onecclExtractVersionComponents, question, (int version, int* major, int* minor, int* patch),
                 (version, major, minor, patch))
TUTTI_CCL_C_CALL(onecclGetUniqueId, setup, (UniqueId* id), (id))
TUTTI_CCL_C(onecclCommInitRank, setup, (Comm* comm, std::size_t ranks, UniqueId id, int rank), (comm, ranks, id, rank), ,
            created(result, comm, id, rank, ranks))
TUTTI_CCL_C(onecclCommInitRankConfig, setup, (Comm* comm, std::size_t ranks, UniqueId id, int rank, const void* config),
            (comm, ranks, id, rank, config), , created(result, comm, id, rank, ranks))
TUTTI_CCL_C(onecclCommSplit, setup, (Comm comm, int color, int key, Comm* made, void* config),
            (comm, color, key, made, config), , split(result, comm, color, made))
TUTTI_CCL_C_CALL(onecclCommFinalize, setup, (Comm comm), (comm))
TUTTI_CCL_C(onecclCommDestroy, setup, (Comm comm), (comm), , removed(comm))
TUTTI_CCL_C(onecclCommAbort, setup, (Comm comm), (comm), , removed(comm))
TUTTI_CCL_C_CALL(onecclCommCount, setup, (Comm comm, int* size), (comm, size))
TUTTI_CCL_C_CALL(onecclCommDevice, setup, (Comm comm, int* device), (comm, device))
TUTTI_CCL_C_CALL(onecclCommUserRank, setup, (Comm comm, int* rank), (comm, rank))
TUTTI_CCL_C_CALL(onecclSetDevice, setup, (std::uint32_t index), (index))
TUTTI_CCL_C(onecclMemAlloc, setup, (void** data, std::size_t bytes), (data, bytes), call.set_bytes(bytes), )
TUTTI_CCL_C_CALL(onecclMemFree, setup, (void* data), (data))
TUTTI_CCL_C_CALL(onecclCommRegister, setup, (Comm comm, void* data, std::size_t bytes, void** handle),
                 (comm, data, bytes, handle))
TUTTI_CCL_C_CALL(onecclCommDeregister, setup, (Comm comm, void* handle), (comm, handle))
TUTTI_CCL_C_CALL(onecclCommWindowRegister, setup, (Comm comm, void* data, std::size_t bytes, void** window, int flags),
                 (comm, data, bytes, window, flags))
TUTTI_CCL_C_CALL(onecclCommWindowDeregister, setup, (Comm comm, void* window), (comm, window))
TUTTI_CCL_C_CALL(onecclRedOpCreatePreMulSum, setup, (RedOp* op, void* scalar, DataType type, int residence, Comm comm),
                 (op, scalar, type, residence, comm))
TUTTI_CCL_C_CALL(onecclRedOpDestroy, setup, (RedOp op, Comm comm), (op, comm))
// clang-format on

}  // namespace tutti::profiling::ccl_c

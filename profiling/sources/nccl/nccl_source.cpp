// Calls of NCCL by any program: every function of nccl.h 2.32.3, in front of libnccl.so.2.
#include <cstring>

#include "sources/common/handle_library.hpp"
#include "sources/nccl/nccl_types.hpp"

namespace tutti::profiling::nccl {

using interpose::RealFunction;
namespace {

struct Nccl {
  static constexpr std::string_view kSource = "nccl";
  static constexpr std::string_view kTitle = "BACKEND_NCCL";
  static constexpr int kLevel = 7;
  static constexpr std::string_view kLeaf = "nccl";
  static constexpr const char* kCommCount = "ncclCommCount";
  static constexpr const char* kCommUserRank = "ncclCommUserRank";
  static constexpr Result kInProgress = 7;
};

using Library = HandleLibrary<Nccl>;
using Call = Library::Call;

LibraryCommunicators& communicators() noexcept { return Library::communicators(); }
LibraryCommunicators::Entry* communicator_of(Comm comm, std::uint64_t key = 0) noexcept {
  return Library::communicator_of(comm, key);
}
Result checked(Call& call, Result result) noexcept { return Library::checked(call, result); }
void created(Result result, const Comm* comm, std::uint64_t key, int rank, int size) noexcept {
  Library::created(result, comm, key, rank, size);
}
std::uint64_t child_key(LibraryCommunicators::Entry* parent, int color) noexcept {
  return Library::child_key(parent, color);
}
void describe(Call& call, std::string_view name, std::size_t count, DataType type, Comm comm, bool blocks) noexcept {
  Library::describe(call, name, count, type_of(type), comm, blocks);
}

}  // namespace

#define TUTTI_NCCL TUTTI_HANDLE_FUNCTION
#define TUTTI_NCCL_CALL(name, purpose, parameters, arguments) TUTTI_NCCL(name, purpose, parameters, arguments, , )

// clang-format off
TUTTI_NCCL(ncclAllReduce, operation,
           (const void* in, void* out, std::size_t count, DataType type, RedOp op, Comm comm, Stream stream),
           (in, out, count, type, op, comm, stream), describe(call, "allreduce", count, type, comm, false), )
TUTTI_NCCL(ncclReduce, operation,
           (const void* in, void* out, std::size_t count, DataType type, RedOp op, int root, Comm comm, Stream stream),
           (in, out, count, type, op, root, comm, stream), describe(call, "reduce", count, type, comm, false), )
TUTTI_NCCL(ncclBcast, operation,
           (void* data, std::size_t count, DataType type, int root, Comm comm, Stream stream),
           (data, count, type, root, comm, stream), describe(call, "broadcast", count, type, comm, false), )
TUTTI_NCCL(ncclBroadcast, operation,
           (const void* in, void* out, std::size_t count, DataType type, int root, Comm comm, Stream stream),
           (in, out, count, type, root, comm, stream), describe(call, "broadcast", count, type, comm, false), )
TUTTI_NCCL(ncclReduceScatter, operation,
           (const void* in, void* out, std::size_t count, DataType type, RedOp op, Comm comm, Stream stream),
           (in, out, count, type, op, comm, stream), describe(call, "reduce_scatter", count, type, comm, true), )
TUTTI_NCCL(ncclAllGather, operation,
           (const void* in, void* out, std::size_t count, DataType type, Comm comm, Stream stream),
           (in, out, count, type, comm, stream), describe(call, "allgather", count, type, comm, true), )
TUTTI_NCCL(ncclAlltoAll, operation,
           (const void* in, void* out, std::size_t count, DataType type, Comm comm, Stream stream),
           (in, out, count, type, comm, stream), describe(call, "alltoall", count, type, comm, true), )
TUTTI_NCCL(ncclGather, operation,
           (const void* in, void* out, std::size_t count, DataType type, int root, Comm comm, Stream stream),
           (in, out, count, type, root, comm, stream), describe(call, "gather", count, type, comm, true), )
TUTTI_NCCL(ncclScatter, operation,
           (const void* in, void* out, std::size_t count, DataType type, int root, Comm comm, Stream stream),
           (in, out, count, type, root, comm, stream), describe(call, "scatter", count, type, comm, true), )
TUTTI_NCCL(ncclSend, operation,
           (const void* in, std::size_t count, DataType type, int peer, Comm comm, Stream stream),
           (in, count, type, peer, comm, stream), describe(call, "send", count, type, comm, false), )
TUTTI_NCCL(ncclRecv, operation,
           (void* out, std::size_t count, DataType type, int peer, Comm comm, Stream stream),
           (out, count, type, peer, comm, stream), describe(call, "recv", count, type, comm, false), )
TUTTI_NCCL(ncclAllReduceConfig, operation,
           (const void* in, void* out, std::size_t count, DataType type, RedOp op, Comm comm, Stream stream,
            const void* config),
           (in, out, count, type, op, comm, stream, config),
           describe(call, "allreduce", count, type, comm, false), )
TUTTI_NCCL(ncclBroadcastConfig, operation,
           (const void* in, void* out, std::size_t count, DataType type, int root, Comm comm, Stream stream,
            const void* config),
           (in, out, count, type, root, comm, stream, config),
           describe(call, "broadcast", count, type, comm, false), )
TUTTI_NCCL(ncclReduceConfig, operation,
           (const void* in, void* out, std::size_t count, DataType type, RedOp op, int root, Comm comm, Stream stream,
            const void* config),
           (in, out, count, type, op, root, comm, stream, config),
           describe(call, "reduce", count, type, comm, false), )
TUTTI_NCCL(ncclAllGatherConfig, operation,
           (const void* in, void* out, std::size_t count, DataType type, Comm comm, Stream stream,
            const void* config),
           (in, out, count, type, comm, stream, config),
           describe(call, "allgather", count, type, comm, true), )
TUTTI_NCCL(ncclReduceScatterConfig, operation,
           (const void* in, void* out, std::size_t count, DataType type, RedOp op, Comm comm, Stream stream,
            const void* config),
           (in, out, count, type, op, comm, stream, config),
           describe(call, "reduce_scatter", count, type, comm, true), )
TUTTI_NCCL(ncclAlltoAllConfig, operation,
           (const void* in, void* out, std::size_t count, DataType type, Comm comm, Stream stream,
            const void* config),
           (in, out, count, type, comm, stream, config),
           describe(call, "alltoall", count, type, comm, true), )
TUTTI_NCCL(ncclGatherConfig, operation,
           (const void* in, void* out, std::size_t count, DataType type, int root, Comm comm, Stream stream,
            const void* config),
           (in, out, count, type, root, comm, stream, config),
           describe(call, "gather", count, type, comm, true), )
TUTTI_NCCL(ncclScatterConfig, operation,
           (const void* in, void* out, std::size_t count, DataType type, int root, Comm comm, Stream stream,
            const void* config),
           (in, out, count, type, root, comm, stream, config),
           describe(call, "scatter", count, type, comm, true), )
TUTTI_NCCL(ncclPutSignal, operation,
           (const void* in, std::size_t count, DataType type, int peer, void* window, std::size_t offset, int signal,
            int context, unsigned flags, Comm comm, Stream stream),
           (in, count, type, peer, window, offset, signal, context, flags, comm, stream),
           call.set_bytes(count * type_of(type).bytes), )
TUTTI_NCCL_CALL(ncclSignal, operation, (int peer, int signal, int context, unsigned flags, Comm comm, Stream stream),
                (peer, signal, context, flags, comm, stream))
TUTTI_NCCL_CALL(ncclWaitSignal, operation, (int count, void* signals, Comm comm, Stream stream),
                (count, signals, comm, stream))
TUTTI_NCCL_CALL(ncclGroupStart, operation, (), ())
TUTTI_NCCL_CALL(ncclGroupEnd, operation, (), ())
TUTTI_NCCL_CALL(ncclGroupSimulateEnd, setup, (void* info), (info))

TUTTI_NCCL_CALL(ncclGetVersion, setup, (int* version), (version))
TUTTI_NCCL_CALL(ncclGetUniqueId, setup, (UniqueId* id), (id))
TUTTI_NCCL(ncclCommInitRank, setup, (Comm* comm, int ranks, UniqueId id, int rank), (comm, ranks, id, rank), ,
           created(result, comm, bytes_key(&id, sizeof(id)), rank, ranks))
TUTTI_NCCL(ncclCommInitRankConfig, setup, (Comm* comm, int ranks, UniqueId id, int rank, void* config),
           (comm, ranks, id, rank, config), , created(result, comm, bytes_key(&id, sizeof(id)), rank, ranks))
TUTTI_NCCL(ncclCommInitRankScalable, setup,
           (Comm* comm, int ranks, int rank, int ids, UniqueId* id, void* config),
           (comm, ranks, rank, ids, id, config), , created(result, comm, bytes_key(id, sizeof(*id)), rank, ranks))
TUTTI_NCCL(ncclCommInitAll, setup, (Comm* comms, int devices, const int* list), (comms, devices, list), ,
           static std::atomic<std::uint64_t> made{0};
           const std::uint64_t key = mixed_key(now_ns(), made.fetch_add(1));
           for (int i = 0; result == 0 && i < devices; ++i) created(result, comms + i, key, i, devices))
TUTTI_NCCL(ncclCommSplit, setup, (Comm comm, int color, int key, Comm* made, void* config),
           (comm, color, key, made, config),
           call.set_bytes(0),
           const std::uint64_t number = child_key(communicator_of(comm), color);
           if (result == 0 && made != nullptr) (void)communicator_of(*made, number))
TUTTI_NCCL(ncclCommShrink, setup, (Comm comm, int* excluded, int count, Comm* made, void* config, int flags),
           (comm, excluded, count, made, config, flags),
           call.set_bytes(0),
           const std::uint64_t number = child_key(communicator_of(comm), -2);
           if (result == 0 && made != nullptr) (void)communicator_of(*made, number))
TUTTI_NCCL_CALL(ncclCommFinalize, setup, (Comm comm), (comm))
TUTTI_NCCL(ncclCommDestroy, setup, (Comm comm), (comm), , communicators().remove(comm))
TUTTI_NCCL(ncclCommAbort, setup, (Comm comm), (comm), , communicators().remove(comm))
TUTTI_NCCL_CALL(ncclCommRevoke, setup, (Comm comm, int flags), (comm, flags))
TUTTI_NCCL_CALL(ncclCommGetAsyncError, question, (Comm comm, int* error), (comm, error))
TUTTI_NCCL_CALL(ncclCommCount, setup, (Comm comm, int* count), (comm, count))
TUTTI_NCCL_CALL(ncclCommCuDevice, setup, (Comm comm, int* device), (comm, device))
TUTTI_NCCL_CALL(ncclCommUserRank, setup, (Comm comm, int* rank), (comm, rank))
TUTTI_NCCL(ncclMemAlloc, setup, (void** data, std::size_t bytes), (data, bytes), call.set_bytes(bytes), )
TUTTI_NCCL_CALL(ncclMemFree, setup, (void* data), (data))
TUTTI_NCCL_CALL(ncclCommRegister, setup, (Comm comm, void* data, std::size_t bytes, void** handle),
                (comm, data, bytes, handle))
TUTTI_NCCL_CALL(ncclCommDeregister, setup, (Comm comm, void* handle), (comm, handle))
TUTTI_NCCL_CALL(ncclCommWindowRegister, setup, (Comm comm, void* data, std::size_t bytes, void** window, int flags),
                (comm, data, bytes, window, flags))
TUTTI_NCCL_CALL(ncclCommWindowDeregister, setup, (Comm comm, void* window), (comm, window))
TUTTI_NCCL_CALL(ncclRedOpCreatePreMulSum, setup, (RedOp* op, void* scalar, DataType type, int residence, Comm comm),
                (op, scalar, type, residence, comm))
TUTTI_NCCL_CALL(ncclRedOpDestroy, setup, (RedOp op, Comm comm), (op, comm))
TUTTI_NCCL_CALL(ncclWinGetUserPtr, setup, (Comm comm, void* window, void** data), (comm, window, data))
TUTTI_NCCL_CALL(ncclCommGetUniqueId, setup, (Comm comm, UniqueId* id), (comm, id))
TUTTI_NCCL(ncclCommGrow, setup, (Comm comm, int ranks, const UniqueId* id, int rank, Comm* made, void* config),
           (comm, ranks, id, rank, made, config), , if (result == 0 && made != nullptr) (void)communicator_of(*made))
TUTTI_NCCL_CALL(ncclCommSuspend, setup, (Comm comm, int flags), (comm, flags))
TUTTI_NCCL_CALL(ncclCommResume, setup, (Comm comm), (comm))
TUTTI_NCCL_CALL(ncclCommMemStats, question, (Comm comm, int stat, std::uint64_t* value), (comm, stat, value))
TUTTI_NCCL_CALL(ncclSetEncryption, setup, (const void* config), (config))
TUTTI_NCCL_CALL(ncclParamBind, question, (void** parameter, const char* key), (parameter, key))
TUTTI_NCCL_CALL(ncclParamGetI8, question, (void* parameter, void* value), (parameter, value))
TUTTI_NCCL_CALL(ncclParamGetI16, question, (void* parameter, void* value), (parameter, value))
TUTTI_NCCL_CALL(ncclParamGetI32, question, (void* parameter, void* value), (parameter, value))
TUTTI_NCCL_CALL(ncclParamGetI64, question, (void* parameter, void* value), (parameter, value))
TUTTI_NCCL_CALL(ncclParamGetU8, question, (void* parameter, void* value), (parameter, value))
TUTTI_NCCL_CALL(ncclParamGetU16, question, (void* parameter, void* value), (parameter, value))
TUTTI_NCCL_CALL(ncclParamGetU32, question, (void* parameter, void* value), (parameter, value))
TUTTI_NCCL_CALL(ncclParamGetU64, question, (void* parameter, void* value), (parameter, value))
TUTTI_NCCL_CALL(ncclParamGetStr, question, (void* parameter, const char** value), (parameter, value))
TUTTI_NCCL_CALL(ncclParamGet, question, (void* parameter, void* value, int most, int* length),
                (parameter, value, most, length))
TUTTI_NCCL_CALL(ncclParamGetParameter, question, (const char* key, const char** value, int* length),
                (key, value, length))
TUTTI_NCCL_CALL(ncclParamGetAllParameterKeys, question, (const char*** table, int* length), (table, length))
// clang-format on

/// The functions that return a text instead of a result.
#define TUTTI_NCCL_TEXT(name, parameter)                                                \
  extern "C" __attribute__((visibility("default"))) const char* name(parameter value) { \
    static constinit LibraryFunctionName function(#name, Purpose::question);            \
    static constinit RealFunction<const char* (*)(parameter)> real(#name);              \
    const auto target = real.get(__builtin_return_address(0));                          \
    if (target == nullptr) return "NCCL is not loaded";                                 \
    const Call call(function, __builtin_return_address(0));                             \
    return target(value);                                                               \
  }
TUTTI_NCCL_TEXT(ncclGetErrorString, Result)
TUTTI_NCCL_TEXT(ncclGetLastError, Comm)

extern "C" __attribute__((visibility("default"))) void ncclParamDumpAll() {
  static constinit LibraryFunctionName function("ncclParamDumpAll", Purpose::question);
  static constinit RealFunction<void (*)()> real("ncclParamDumpAll");
  const auto target = real.get(__builtin_return_address(0));
  if (target == nullptr) return;
  const Call call(function, __builtin_return_address(0));
  target();
}

}  // namespace tutti::profiling::nccl

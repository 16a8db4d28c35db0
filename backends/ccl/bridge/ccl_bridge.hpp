#pragma once

#include <cstddef>
#include <cstdint>

/// oneCCL's C++ interface as plain functions. Code that uses oneCCL's classes must be linked to libccl.so.1. Only the
/// bridge is, a small shared object that the module opens after the library: the module itself can be loaded on a
/// machine without oneCCL, and report what is missing.
///
/// All functions but error() return 0, or 1 when oneCCL threw; error() then has the text.
namespace tutti::ccl {

/// A communicator of oneCCL; defined in the bridge only.
struct Handle;
/// A key-value store of oneCCL.
struct Kvs;

/// Storage for the event of an operation: constructed by the call, destroyed by wait() or release().
struct Event {
  alignas(std::max_align_t) std::byte bytes[16];
};

/// Version of the library that the bridge found.
struct BridgeVersion {
  unsigned major;
  unsigned minor;
  unsigned update;
  bool has_devices;  ///< a build for SYCL, not for the CPU alone
};

struct BridgeOptions {
  bool quiet;        ///< text that oneCCL prints on failure goes into error() instead
  bool takes_turns;  ///< threads enter oneCCL one at a time and wait by asking; see Turns
};

inline constexpr std::size_t kAddressBytes = 256;

/// Changes whenever a table changes: the module and the bridges must be from one build.
inline constexpr std::uint32_t kBridgeAbi = 4;

/// Functions that need SYCL's classes too: in a shared object of its own, linked to libsycl, that is opened only if
/// oneCCL uses the libsycl that the shared object was built with. Queues are `sycl::queue*`. Called by the bridge only;
/// functions throw.
struct QueueBridge {
  std::uint32_t abi;
  Handle* (*create)(int size, int rank, const Kvs& kvs, void* queue);
  void (*bind)(Handle& handle, void* queue);
};

struct Bridge {
  std::uint32_t abi;
  /// Error text of this thread's last failed call; valid until the next failure.
  const char* (*error)();

  /// Does not start oneCCL.
  int (*version)(BridgeVersion* version);
  /// Starts oneCCL.
  int (*init)(const BridgeOptions& options);
  int (*create_main_kvs)(Kvs** kvs, char* address);
  int (*create_kvs)(const char* address, Kvs** kvs);
  /// Takes ownership of the store, also on failure.
  int (*create_communicator)(int size, int rank, Kvs* kvs, Handle** handle);
  /// The same for memory of the device and context of a queue. bind_queue() must precede the first operation.
  int (*create_on_queue)(const QueueBridge* queues, int size, int rank, Kvs* kvs, void* queue, Handle** handle);
  /// From now on this queue, which must be in-order, orders the operations.
  int (*bind_queue)(const QueueBridge* queues, Handle* handle, void* queue);
  int (*destroy_communicator)(Handle* handle);

  int (*allreduce)(Handle*, const void* in, void* out, std::size_t count, int type, int reduction, Event*);
  /// The same and wait() in one call: the fast path.
  int (*whole_allreduce)(Handle*, const void* in, void* out, std::size_t count, int type, int reduction);
  /// To be taken in its place where threads take turns, so that it need not ask.
  int (*whole_allreduce_in_turn)(Handle*, const void* in, void* out, std::size_t count, int type, int reduction);
  int (*allgather)(Handle*, const void* in, void* out, std::size_t count, int type, Event*);
  int (*allgatherv)(Handle*, const void* in, std::size_t count, void* out, const std::uint64_t* out_counts, int type,
                    Event*);
  int (*reduce_scatter)(Handle*, const void* in, void* out, std::size_t count, int type, int reduction, Event*);
  int (*broadcast)(Handle*, void* buffer, std::size_t count, int type, int root, Event*);
  int (*reduce)(Handle*, const void* in, void* out, std::size_t count, int type, int reduction, int root, Event*);
  int (*alltoall)(Handle*, const void* in, void* out, std::size_t count, int type, Event*);
  /// Blocks must be packed in rank order: oneCCL supports no other layout here.
  int (*alltoallv)(Handle*, const void* in, const std::uint64_t* in_counts, void* out, const std::uint64_t* out_counts,
                   int type, Event*);
  int (*barrier)(Handle*, Event*);
  /// Waits for an operation, and destroys its event.
  int (*wait)(Event*);
  /// Destroys the event without waiting: the queue shows when the operation is complete.
  int (*release)(Event*);
};

/// The symbol the bridge exports: `extern "C" const Bridge* tutti_ccl_bridge()`.
using BridgeEntry = const Bridge* (*)();
inline constexpr const char* kBridgeSymbol = "tutti_ccl_bridge";
inline constexpr const char* kBridgeFile = "libtutti_ccl_bridge.so";

/// The symbol that the queue bridge exports: `extern "C" const QueueBridge* tutti_ccl_queue_bridge()`.
using QueueBridgeEntry = const QueueBridge* (*)();
inline constexpr const char* kQueueBridgeSymbol = "tutti_ccl_queue_bridge";
inline constexpr const char* kQueueBridgeFile = "libtutti_ccl_queue_bridge.so";

}  // namespace tutti::ccl

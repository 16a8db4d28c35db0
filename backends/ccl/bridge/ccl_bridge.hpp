#pragma once

#include <cstddef>
#include <cstdint>

/// oneCCL's C++ interface as plain functions. oneCCL's classes live in libccl.so.1, so whoever names them is linked to
/// it. That is one small shared object, the bridge, which the module opens once it has opened the library: the module
/// itself can be loaded on a machine without oneCCL and say what is missing.
///
/// All functions but error() return 0, or 1 when oneCCL threw, whose words error() then has.
namespace tutti::ccl {

/// A communicator of oneCCL; what is in it only the bridge knows.
struct Handle;
/// A key-value store of oneCCL.
struct Kvs;

/// Where an operation of oneCCL leaves its event: made by the call, destroyed by wait().
struct Event {
  alignas(std::max_align_t) std::byte bytes[16];
};

/// Counts of a vector form in elements, one per rank, and where the blocks begin.
struct Layout {
  const std::uint64_t* counts;
  const std::uint64_t* displacements;  ///< null: packed in rank order
};

/// What the bridge was built with or found.
struct BridgeVersion {
  unsigned major;
  unsigned minor;
  unsigned update;
  bool has_devices;  ///< a build for SYCL, not for the CPU alone
};

inline constexpr std::size_t kAddressBytes = 256;

/// Changes whenever a table does: module and bridges must be of one build.
inline constexpr std::uint32_t kBridgeAbi = 2;

/// What needs the C++ objects of SYCL besides: a shared object of its own, linked to libsycl too, that is opened where
/// oneCCL uses the libsycl it was built with. Queues are `sycl::queue*`. For the bridge to call; throws.
struct QueueBridge {
  std::uint32_t abi;
  Handle* (*create)(int size, int rank, const Kvs& kvs, void* queue);
  void (*bind)(Handle& handle, void* queue);
};

struct Bridge {
  std::uint32_t abi;
  /// What went wrong in the last call of this thread that failed; valid until the next.
  const char* (*error)();

  /// Starts nothing.
  int (*version)(BridgeVersion* version);
  /// Starts oneCCL. `quiet`: what it prints on failure goes into error() instead.
  int (*init)(bool quiet);
  int (*create_main_kvs)(Kvs** kvs, char* address);
  int (*create_kvs)(const char* address, Kvs** kvs);
  /// Takes the store over, also when it fails.
  int (*create_communicator)(int size, int rank, Kvs* kvs, Handle** handle);
  /// The same for memory of the device and context of a queue. bind_queue() comes before the first operation.
  int (*create_on_queue)(const QueueBridge* queues, int size, int rank, Kvs* kvs, void* queue, Handle** handle);
  /// Operations are ordered by this queue from now on, which must be in-order.
  int (*bind_queue)(const QueueBridge* queues, Handle* handle, void* queue);
  int (*destroy_communicator)(Handle* handle);

  int (*allreduce)(Handle*, const void* in, void* out, std::size_t count, int type, int reduction, Event*);
  /// The same to its end, wait() included: the shortest way for what is called most.
  int (*whole_allreduce)(Handle*, const void* in, void* out, std::size_t count, int type, int reduction);
  int (*allgather)(Handle*, const void* in, void* out, std::size_t count, int type, Event*);
  int (*allgatherv)(Handle*, const void* in, std::size_t count, void* out, const Layout& layout, std::size_t width,
                    int type, Event*);
  int (*reduce_scatter)(Handle*, const void* in, void* out, std::size_t count, int type, int reduction, Event*);
  int (*broadcast)(Handle*, void* buffer, std::size_t count, int type, int root, Event*);
  int (*reduce)(Handle*, const void* in, void* out, std::size_t count, int type, int reduction, int root, Event*);
  int (*alltoall)(Handle*, const void* in, void* out, std::size_t count, int type, Event*);
  /// Blocks are packed in rank order: oneCCL knows no other layout for it.
  int (*alltoallv)(Handle*, const void* in, const std::uint64_t* in_counts, void* out, const std::uint64_t* out_counts,
                   int type, Event*);
  int (*barrier)(Handle*, Event*);
  /// Waits for what an operation has begun, and destroys its event.
  int (*wait)(Event*);
  /// Only destroys its event: the queue tells the end.
  int (*release)(Event*);
};

/// The symbol the bridge exports: `extern "C" const Bridge* tutti_ccl_bridge()`.
using BridgeEntry = const Bridge* (*)();
inline constexpr const char* kBridgeSymbol = "tutti_ccl_bridge";
inline constexpr const char* kBridgeFile = "libtutti_ccl_bridge.so";

/// The same of the other: `extern "C" const QueueBridge* tutti_ccl_queue_bridge()`.
using QueueBridgeEntry = const QueueBridge* (*)();
inline constexpr const char* kQueueBridgeSymbol = "tutti_ccl_queue_bridge";
inline constexpr const char* kQueueBridgeFile = "libtutti_ccl_queue_bridge.so";

}  // namespace tutti::ccl

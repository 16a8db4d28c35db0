#pragma once

#include <cstddef>
#include <cstdint>

/// NCCL's interface for profiler plug-ins, as far as this one uses it: versions 1 (NCCL 2.23) to 7. NCCL's wheel has no
/// header for it.
namespace tutti::profiling::nccl::plugin {

/// Kinds of events, one bit each.
inline constexpr std::uint64_t kColl = 1U << 1;
inline constexpr std::uint64_t kP2p = 1U << 2;
inline constexpr std::uint64_t kKernelChannel = 1U << 6;
inline constexpr std::uint64_t kCollApi = 1U << 9;
inline constexpr std::uint64_t kP2pApi = 1U << 10;

/// State of a kernel channel that has ended; its arguments begin with the time on the device.
inline constexpr int kKernelChannelStop = 22;

/// Description of an event, versions 5 to 7; the calls of the program are its kinds kCollApi and kP2pApi, the
/// operations that kernels carry out kColl and kP2p.
struct Event5 {
  std::uint64_t type;
  void* parent;
  int rank;
  struct Api {
    const char* function;
    std::size_t count;
    const char* type;
  };
  struct Coll {
    std::uint64_t sequence;
    const char* function;
    const void* in;
    void* out;
    std::size_t count;
    int root;
    const char* type;
    std::uint8_t channels;
  };
  struct P2p {
    const char* function;
    void* buffer;
    const char* type;
    std::size_t count;
    int peer;
    std::uint8_t channels;
  };
  struct KernelChannel {
    std::uint8_t channel;
    std::uint64_t time;  ///< nanoseconds of the device's clock
  };
  union {
    Api api;
    Coll coll;
    P2p p2p;
    KernelChannel kernel;
  };
};

/// Version 4: operations that were enqueued.
struct Event4 {
  std::uint8_t type;
  void* parent;
  int rank;
  struct Coll {
    std::uint64_t sequence;
    const char* function;
    const void* in;
    void* out;
    std::size_t count;
    int root;
    const char* type;
  };
  struct P2p {
    const char* function;
    void* buffer;
    const char* type;
    std::size_t count;
  };
  union {
    Coll coll;
    P2p p2p;
  };
};

/// Versions 2 (NCCL 2.24) and 3 (2.25).
struct Event2 {
  std::uint8_t type;
  void* parent;
  int rank;
  struct Coll {
    const char* communicator;
    std::uint64_t key;
    std::uint64_t sequence;
    const char* function;
    const void* in;
    void* out;
    std::size_t count;
    int root;
    const char* type;
  };
  struct P2p {
    const char* communicator;
    std::uint64_t key;
    const char* function;
    void* buffer;
    const char* type;
    std::size_t count;
  };
  union {
    Coll coll;
    P2p p2p;
  };
};

/// Version 1 (NCCL 2.23): functions and types are numbers.
struct Event1 {
  std::uint8_t type;
  void* parent;
  int rank;
  struct Coll {
    const char* communicator;
    std::uint64_t key;
    std::uint64_t sequence;
    std::uint8_t function;
    const void* in;
    void* out;
    std::size_t count;
    int root;
    std::uint8_t type;
  };
  struct P2p {
    const char* communicator;
    std::uint64_t key;
    std::uint8_t function;
    void* buffer;
    std::uint8_t type;
    std::size_t count;
  };
  union {
    Coll coll;
    P2p p2p;
  };
};

/// Table of functions that a plug-in exports as ncclProfiler_v5 to ncclProfiler_v7.
struct Profiler5 {
  const char* name;
  int (*init)(void** context, std::uint64_t communicator, int* mask, const char* name, int nodes, int ranks, int rank,
              void* log);
  int (*start_event)(void* context, void** handle, const Event5* event);
  int (*stop_event)(void* handle);
  int (*record_state)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

/// ncclProfiler_v4
struct Profiler4 {
  const char* name;
  int (*init)(void** context, int* mask, const char* name, std::uint64_t communicator, int nodes, int ranks, int rank,
              void* log);
  int (*start_event)(void* context, void** handle, const Event4* event);
  int (*stop_event)(void* handle);
  int (*record_state)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

/// ncclProfiler_v1 to _v3, by the event of the version. NCCL does not tell the number of ranks.
template <typename Event>
struct Profiler1 {
  const char* name;
  int (*init)(void** context, int* mask);
  int (*start_event)(void* context, void** handle, const Event* event);
  int (*stop_event)(void* handle);
  int (*record_state)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

}  // namespace tutti::profiling::nccl::plugin

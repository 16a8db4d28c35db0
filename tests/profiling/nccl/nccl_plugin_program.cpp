// Calls a profiler plug-in as NCCL does: nccl_plugin_program PLUGIN VERSION SEED. It counts the events that it reports
// and prints the counts. With a fourth argument the plug-in must ask for the times of kernels, which have three
// channels.
#include <dlfcn.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "profiling/support/expected_tally.hpp"

namespace {

// Written from NCCL's documentation of the interface once more, so that the test does not share mistakes of the
// plug-in.
struct ApiEvent {
  std::uint64_t type = 0;
  void* parent = nullptr;
  int rank = 0;
  union {
    struct {
      const char* func;
      std::size_t count;
      const char* datatype;
      int root;
      void* stream;
      bool graph_captured;
    } coll_api;
    struct {
      const char* func;
      std::size_t count;
      const char* datatype;
      void* stream;
      bool graph_captured;
    } p2p_api;
    struct {
      std::uint64_t seq_number;
      const char* func;
      const void* send_buff;
      void* recv_buff;
      std::size_t count;
      int root;
      const char* datatype;
      std::uint8_t channels, warps;
    } coll;
    struct {
      const char* func;
      void* buff;
      const char* datatype;
      std::size_t count;
      int peer;
      std::uint8_t channels;
    } p2p;
    struct {
      std::uint8_t channel;
      std::uint64_t timer;
    } kernel;
    std::array<char, 128> all = {};
  };
};
struct OldEvent {
  std::uint8_t type = 0;
  void* parent = nullptr;
  int rank = 0;
  union {
    struct {
      std::uint64_t seq_number;
      const char* func;
      const void* send_buff;
      void* recv_buff;
      std::size_t count;
      int root;
      const char* datatype;
      std::uint8_t channels, warps;
      const char* algo;
      const char* proto;
    } coll;
    struct {
      const char* func;
      void* buff;
      const char* datatype;
      std::size_t count;
      int peer;
      std::uint8_t channels;
    } p2p;
    std::array<char, 128> all = {};
  };
};
// Versions 2 and 3: Name is const char*; version 1: numbers of one byte.
template <typename Name>
struct FirstEvent {
  std::uint8_t type = 0;
  void* parent = nullptr;
  int rank = 0;
  union {
    struct {
      const char* name;
      std::uint64_t comm_hash, seq_number;
      Name func;
      const void* send_buff;
      void* recv_buff;
      std::size_t count;
      int root;
      Name datatype;
    } coll;
    struct {
      const char* name;
      std::uint64_t comm_hash;
      Name func;
      void* buff;
      Name datatype;
      std::size_t count;
      int peer;
    } p2p;
    std::array<char, 160> all = {};
  };
};
template <typename Name>
struct FirstTable {
  const char* name;
  int (*init)(void**, int*);
  int (*start)(void*, void**, FirstEvent<Name>*);
  int (*stop)(void*);
  int (*state)(void*, int, void*);
  int (*finalize)(void*);
};
struct NewTable {
  const char* name;
  int (*init)(void**, std::uint64_t, int*, const char*, int, int, int, void*);
  int (*start)(void*, void**, ApiEvent*);
  int (*stop)(void*);
  int (*state)(void*, int, void*);
  int (*finalize)(void*);
};
struct OldTable {
  const char* name;
  int (*init)(void**, int*, const char*, std::uint64_t, int, int, int, void*);
  int (*start)(void*, void**, OldEvent*);
  int (*stop)(void*);
  int (*state)(void*, int, void*);
  int (*finalize)(void*);
};

constexpr int kRanks = 2;
tutti::test::ExpectedTally tally;

struct Operation {
  const char* func;
  const char* name;
  bool blocks, message;
  std::uint8_t number;  // in version 1
};
constexpr std::array<Operation, 5> kOperations = {{{"AllReduce", "allreduce", false, false, 4},
                                                   {"AllGather", "allgather", true, false, 2},
                                                   {"Broadcast", "broadcast", false, false, 0},
                                                   {"Send", "send", false, true, 6},
                                                   {"Recv", "recv", false, true, 7}}};

/// `ranks`: 0 where NCCL does not tell their number.
void count(const Operation& op, std::size_t elements, bool is_new, int ranks = kRanks) {
  const std::uint64_t bytes = elements * 4;
  const std::uint64_t message = op.blocks && ranks > 0 ? bytes * static_cast<std::uint64_t>(ranks) : bytes;
  const std::string context =
      std::string(op.name) + "/float32/nccl//" + std::to_string(message) + "/" + std::to_string(ranks);
  tally.add(std::string("operation|BACKEND_NCCL|") + op.name + "|" + context, bytes, false);
  if (is_new) tally.add(std::string("host|BACKEND_NCCL|nccl") + op.func + "|" + context, bytes, false);
}

template <typename Report>
void run_rank(std::uint64_t seed, const Report& report) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < 1000; ++i) {
    const Operation& op = kOperations[random() % kOperations.size()];
    report(op, random() % 5000);
  }
}

bool with_kernels = false;
constexpr std::uint64_t kKernelNs = 3000;

/// Reports the kernel of an operation: its event stops before the kernel runs, its channels run side by side for
/// kKernelNs in all. The device's clock is 1000 s ahead of the host's.
void run_kernel(const NewTable& plugin, void* context, const Operation& op, std::size_t elements) {
  constexpr int kChannels = 3;
  ApiEvent event;
  event.type = op.message ? 1U << 2 : 1U << 1;
  if (op.message) {
    event.p2p.func = op.func;
    event.p2p.datatype = "ncclFloat32";
    event.p2p.count = elements;
    event.p2p.channels = kChannels;
  } else {
    event.coll.func = op.func;
    event.coll.datatype = "ncclFloat32";
    event.coll.count = elements;
    event.coll.channels = kChannels;
  }
  void* task = nullptr;
  plugin.start(context, &task, &event);
  plugin.stop(task);
  const auto now = std::chrono::steady_clock::now().time_since_epoch() + std::chrono::seconds(1000);
  const auto ended = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  std::array<void*, kChannels> channels = {};
  for (std::uint64_t i = 0; i < kChannels; ++i) {
    ApiEvent channel;
    channel.type = 1U << 6;
    channel.parent = task;
    channel.kernel.channel = static_cast<std::uint8_t>(i);
    channel.kernel.timer = ended - kKernelNs + 500 * i;
    plugin.start(context, &channels[i], &channel);
  }
  for (std::uint64_t i = 0; i < kChannels; ++i) {
    std::uint64_t timer = ended - 100 * i;
    plugin.state(channels[i], 22, &timer);
    plugin.stop(channels[i]);
  }
  const std::uint64_t message = op.blocks ? elements * 4 * kRanks : elements * 4;
  tally.add(std::string("device|BACKEND_NCCL|nccl") + op.func + "|" + op.name + "/float32/nccl//" +
                std::to_string(message) + "/" + std::to_string(kRanks),
            0, false);
}

bool run_new(const NewTable& plugin, int rank, std::uint64_t seed) {
  void* context = nullptr;
  int mask = 0;
  if (plugin.init(&context, 4711, &mask, "world", 1, kRanks, rank, nullptr) != 0) return false;
  if (mask != ((1 << 9) | (1 << 10) | (with_kernels ? 1 << 6 : 0))) return false;
  run_rank(seed, [&](const Operation& op, std::size_t elements) {
    ApiEvent event;
    event.type = op.message ? 1U << 10 : 1U << 9;
    event.rank = rank;
    event.coll_api.func = op.func;
    event.coll_api.count = elements;
    event.coll_api.datatype = "ncclFloat32";
    void* handle = nullptr;
    plugin.start(context, &handle, &event);
    plugin.state(handle, 1, nullptr);
    plugin.stop(handle);
    count(op, elements, true);
    if (with_kernels) run_kernel(plugin, context, op, elements);
  });
  return plugin.finalize(context) == 0;
}

bool run_old(const OldTable& plugin, int rank, std::uint64_t seed) {
  void* context = nullptr;
  int mask = 0;
  if (plugin.init(&context, &mask, nullptr, 4711, 1, kRanks, rank, nullptr) != 0) return false;
  if (mask != ((1 << 1) | (1 << 2))) return false;
  run_rank(seed, [&](const Operation& op, std::size_t elements) {
    OldEvent event;
    event.type = op.message ? 1U << 2 : 1U << 1;
    event.rank = rank;
    if (op.message) {
      event.p2p.func = op.func;
      event.p2p.count = elements;
      event.p2p.datatype = "ncclFloat32";
    } else {
      event.coll.func = op.func;
      event.coll.count = elements;
      event.coll.datatype = "ncclFloat32";
    }
    void* handle = nullptr;
    plugin.start(context, &handle, &event);
    plugin.stop(handle);
    count(op, elements, false);
  });
  return plugin.finalize(context) == 0;
}

void set(const char*& name, const char* text, std::uint8_t) { name = text; }
void set(std::uint8_t& name, const char*, std::uint8_t number) { name = number; }

template <typename Name>
bool run_first(const FirstTable<Name>& plugin, int rank, std::uint64_t seed) {
  constexpr std::uint8_t kFloat32 = 7;
  void* context = nullptr;
  int mask = 0;
  if (plugin.init(&context, &mask) != 0 || mask != ((1 << 1) | (1 << 2))) return false;
  run_rank(seed, [&](const Operation& op, std::size_t elements) {
    FirstEvent<Name> event;
    event.type = op.message ? 1U << 2 : 1U << 1;
    event.rank = rank;
    const auto fill = [&](auto& part) {
      part.comm_hash = 4711;
      part.count = elements;
      set(part.func, op.func, op.number);
      set(part.datatype, "ncclFloat32", kFloat32);
    };
    op.message ? fill(event.p2p) : fill(event.coll);
    void* handle = nullptr;
    plugin.start(context, &handle, &event);
    plugin.stop(handle);
    count(op, elements, false, 0);
  });
  return plugin.finalize(context) == 0;
}

bool run_version(int version, const void* table, int rank, std::uint64_t seed) {
  if (version == 1) return run_first(*static_cast<const FirstTable<std::uint8_t>*>(table), rank, seed);
  if (version < 4) return run_first(*static_cast<const FirstTable<const char*>*>(table), rank, seed);
  if (version == 4) return run_old(*static_cast<const OldTable*>(table), rank, seed);
  return run_new(*static_cast<const NewTable*>(table), rank, seed);
}

}  // namespace

int main(int arguments, char** argument) {
  if (arguments < 4) return 2;
  with_kernels = arguments > 4;
  void* plugin = dlopen(argument[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const void* table = dlsym(plugin, (std::string("ncclProfiler_v") + argument[2]).c_str());
  if (table == nullptr) return 3;
  const int version = std::atoi(argument[2]);
  const std::uint64_t seed = std::strtoull(argument[3], nullptr, 10);
  std::atomic<int> failures = 0;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] { failures += run_version(version, table, rank, seed) ? 0 : 1; });
  }
  for (std::thread& rank : ranks) rank.join();
  tally.print();
  return failures;
}

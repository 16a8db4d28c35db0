// Calls a profiler plug-in as NCCL does: nccl_plugin_program PLUGIN VERSION SEED. It counts the events that it reports
// and prints the counts.
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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
};
constexpr std::array<Operation, 5> kOperations = {{{"AllReduce", "allreduce", false, false},
                                                   {"AllGather", "allgather", true, false},
                                                   {"Broadcast", "broadcast", false, false},
                                                   {"Send", "send", false, true},
                                                   {"Recv", "recv", false, true}}};

void count(const Operation& op, std::size_t elements, bool is_new) {
  const std::uint64_t bytes = elements * 4;
  const std::string context =
      std::string(op.name) + "/float32/nccl//" + std::to_string(op.blocks ? bytes * kRanks : bytes) + "/2";
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

bool run_new(const NewTable& plugin, int rank, std::uint64_t seed) {
  void* context = nullptr;
  int mask = 0;
  if (plugin.init(&context, 4711, &mask, "world", 1, kRanks, rank, nullptr) != 0) return false;
  if (mask != ((1 << 9) | (1 << 10))) return false;
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

}  // namespace

int main(int arguments, char** argument) {
  if (arguments != 4) return 2;
  void* plugin = dlopen(argument[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const void* table = dlsym(plugin, (std::string("ncclProfiler_v") + argument[2]).c_str());
  if (table == nullptr) return 3;
  const bool is_old = std::strcmp(argument[2], "4") == 0;
  const std::uint64_t seed = std::strtoull(argument[3], nullptr, 10);
  std::atomic<int> failures = 0;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] {
      const bool is_good = is_old ? run_old(*static_cast<const OldTable*>(table), rank, seed)
                                  : run_new(*static_cast<const NewTable*>(table), rank, seed);
      failures += is_good ? 0 : 1;
    });
  }
  for (std::thread& rank : ranks) rank.join();
  tally.print();
  return failures;
}

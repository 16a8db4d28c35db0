#include "synthetic_profile.hpp"

#include <algorithm>
#include <random>
#include <tuple>
#include <utility>

namespace tutti::test {

using profiling::EventRow;
using profiling::Kind;

int ProfileBuilder::process(std::string host, int rank, std::int64_t realtime_offset) {
  const auto index = static_cast<int>(profile_.processes.size());
  profile_.processes.push_back({.host = std::move(host),
                                .command = "/opt/app/bin/train --steps 3",
                                .pid = static_cast<std::uint32_t>(1000 + index),
                                .rank = rank,
                                .size = 3,
                                .begin_ns = 1'000'000,
                                .end_ns = 1'000'000,
                                .realtime_offset = realtime_offset,
                                .ended = true,
                                .problem = {}});
  return index;
}

int ProfileBuilder::source(std::string_view title, int level) {
  profile_.sources.push_back({std::string(title), level});
  return static_cast<int>(profile_.sources.size()) - 1;
}

int ProfileBuilder::device(std::uint64_t device, std::uint64_t sub_device, std::string name) {
  profile_.devices.push_back({std::move(name), device, sub_device});
  return static_cast<int>(profile_.devices.size()) - 1;
}

int ProfileBuilder::context(profiling::ContextRow row) {
  profile_.contexts.push_back(std::move(row));
  return static_cast<int>(profile_.contexts.size()) - 1;
}

int ProfileBuilder::communicator(int process, std::uint64_t key, int rank, int size) {
  profile_.communicators.push_back({key, "world", process, rank, size});
  return static_cast<int>(profile_.communicators.size()) - 1;
}

std::uint32_t ProfileBuilder::name(std::string_view name) {
  const auto found = std::find(profile_.names.begin(), profile_.names.end(), name);
  if (found == profile_.names.end()) {
    profile_.names.emplace_back(name);
    return static_cast<std::uint32_t>(profile_.names.size() - 1);
  }
  return static_cast<std::uint32_t>(found - profile_.names.begin());
}

void ProfileBuilder::event(std::string_view event_name, EventRow row) {
  row.name = name(event_name);
  auto& process = profile_.processes[static_cast<std::size_t>(row.process)];
  process.end_ns = std::max(process.end_ns, row.end_ns);
  profile_.events.push_back(row);
}

profiling::Profile ProfileBuilder::finish() const {
  profiling::Profile profile = profile_;
  std::stable_sort(profile.events.begin(), profile.events.end(), [](const EventRow& left, const EventRow& right) {
    return std::tuple(left.process, left.begin_ns) < std::tuple(right.process, right.begin_ns);
  });
  return profile;
}

namespace {

/// Numbers of rows that all processes use.
struct Shared {
  int tutti, mpi, ze;
  int whole, sub;
  int allreduce, send;
};

/// Adds the events of one process, step by step.
class ProcessMaker {
 public:
  ProcessMaker(ProfileBuilder& builder, const Shared& shared, int process, int communicator, std::mt19937_64& random)
      : builder_(builder), shared_(shared), process_(process), communicator_(communicator), random_(random) {}

  void step() {
    region_ = builder_.name(random_() % 2 == 0 ? "step" : "validate \"x\"\n");
    synchronous();
    if (random_() % 2 == 0) region_ = 0;
    overlapping();
    memory();
  }

 private:
  std::uint64_t pass(std::uint64_t most) { return now_ += 1 + random_() % most; }

  EventRow row(Kind kind, int source, std::uint64_t begin, std::uint64_t end) const {
    return {.kind = kind,
            .source = source,
            .process = process_,
            .thread = static_cast<std::uint32_t>(1000 + process_),
            .region = region_,
            .begin_ns = begin,
            .end_ns = end};
  }

  // An operation with a call, which starts work on a device that ends after the operation.
  void synchronous() {
    const std::uint64_t begin = pass(1000);
    const std::uint64_t call = pass(100);
    const std::uint64_t launch = pass(100);
    const std::uint64_t launched = pass(100);
    const std::uint64_t returned = pass(100);
    const std::uint64_t end = pass(100);
    EventRow operation = row(Kind::operation, shared_.tutti, begin, end);
    operation.context = shared_.allreduce;
    operation.communicator = communicator_;
    operation.sequence = ++sequence_;
    builder_.event("allreduce", operation);
    EventRow outer = row(Kind::host, shared_.mpi, call, returned);
    outer.context = shared_.allreduce;
    outer.bytes = 1 << 20;
    outer.error = random_() % 4 == 0 ? -7 : 0;
    builder_.event("MPI_Allreduce", outer);
    EventRow inner = row(Kind::host, shared_.ze, launch, launched);
    inner.correlation = ++correlation_;
    inner.context = shared_.allreduce;
    builder_.event("zeCommandListAppendMemoryCopy", inner);
    EventRow work = row(Kind::device, shared_.ze, launch + random_() % 50, end + random_() % 3000);
    work.device = random_() % 2 == 0 ? shared_.whole : shared_.sub;
    work.correlation = correlation_;
    work.context = shared_.allreduce;
    builder_.event("kernel<float>\xFF, \\\"quoted\"", work);
    EventRow traffic = row(Kind::traffic, shared_.ze, launch, launch);
    traffic.device = work.device;
    traffic.bytes = 4096 + random_() % 1000;
    builder_.event("zeCommandListAppendMemoryCopy", traffic);
  }

  // Operations that are begun one after the other and end in any order.
  void overlapping() {
    const std::uint64_t begin = pass(1000);
    for (std::uint64_t index = 0; index < 3; ++index) {
      EventRow operation = row(Kind::operation, shared_.tutti, begin + 10 * index, begin + 100 + random_() % 500);
      operation.context = shared_.send;
      builder_.event("send", operation);
      EventRow call = row(Kind::host, shared_.mpi, begin + 10 * index, begin + 10 * index + 5);
      call.thread = static_cast<std::uint32_t>(index == 2 ? 5000 + process_ : 1000 + process_);
      builder_.event("MPI_Isend", call);
    }
    now_ = begin + 700;
  }

  void memory() {
    EventRow allocation = row(Kind::allocation, shared_.ze, pass(100), now_);
    allocation.device = random_() % 2 == 0 ? shared_.whole : -1;
    allocation.bytes = 1 + random_() % 10'000;
    builder_.event("application", allocation);
    if (random_() % 2 == 0) {
      allocation.kind = Kind::release;
      allocation.begin_ns = allocation.end_ns = pass(100);
      builder_.event("application", allocation);
    }
  }

  ProfileBuilder& builder_;
  const Shared& shared_;
  int process_;
  int communicator_;
  std::mt19937_64& random_;
  std::uint64_t now_ = 1'000'000;
  std::uint64_t sequence_ = 0, correlation_ = 0;
  std::uint32_t region_ = 0;
};

}  // namespace

profiling::Profile random_profile(unsigned seed, int steps) {
  std::mt19937_64 random(seed);
  ProfileBuilder builder;
  Shared shared = {};
  shared.tutti = builder.source("BACKEND_TUTTI", 9);
  shared.mpi = builder.source("BACKEND_MPI", 3);
  shared.ze = builder.source("BACKEND_ZE", 1);
  shared.whole = builder.device(77, 0, "GPU \xC3\xA9");
  shared.sub = builder.device(77, 78, "GPU \xC3\xA9");
  shared.allreduce = builder.context({.operation = "allreduce",
                                      .type = "float32",
                                      .backend = "mpi:openmpi",
                                      .label = "grad;\"0\"",
                                      .bytes = 1 << 20,
                                      .ranks = 3});
  shared.send = builder.context({.operation = "send", .type = {}, .backend = {}, .label = {}, .bytes = 1000});
  for (int index = 0; index < 3; ++index) {
    // Ranks are not in the order of processes, and the hosts' clocks have other origins.
    const int process = builder.process(index < 2 ? "node-a" : "node-b", 2 - index,
                                        1'700'000'000'000'000'000 + index * 1'000'000'000'000);
    ProcessMaker maker(builder, shared, process, builder.communicator(process, 9, 2 - index, 3), random);
    for (int step = 0; step < steps; ++step) maker.step();
  }
  return builder.finish();
}

}  // namespace tutti::test

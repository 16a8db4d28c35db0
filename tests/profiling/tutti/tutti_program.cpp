// A program that does not know that it is profiled: tutti_program SCENARIO SEED. It counts tutti's records by itself
// and prints the counts.
#include <unistd.h>

#include <cstring>
#include <random>
#include <unordered_map>

#include "conformance/cases/one_of_each.hpp"
#include "profiling/support/expected_tally.hpp"
#include "support/devices/device_support.hpp"
#include "support/rank_threads.hpp"
#include "tutti/horovod.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

/// Counts every record under the key that the profile must have.
class Counter final : public Observer {
 public:
  explicit Counter(bool with_contexts) : with_contexts_(with_contexts) {}
  using Observer::on;
  void on(const OpIssued& record) noexcept override {
    const Operation& op = record.operation;
    const std::scoped_lock lock(mutex_);
    const std::uint64_t bytes = message_bytes(op, record.size);
    pending_[record.id] = {std::string(name(op.kind)),
                           std::string(name(op.kind)) + "/" +
                               (op.kind == OpKind::barrier ? "" : std::string(name(op.type))) + "/" +
                               std::string(record.backend) + "/" + std::string(op.label) + "/" + std::to_string(bytes) +
                               "/" + std::to_string(record.size),
                           bytes};
  }
  void on(const OpCompleted& record) noexcept override {
    const std::scoped_lock lock(mutex_);
    const auto op = pending_.extract(record.id);
    if (op.empty()) return;
    tally.add("operation|BACKEND_TUTTI|" + op.mapped().name + "|" + op.mapped().context, op.mapped().bytes,
              record.error != ErrorCode::ok);
  }
  void on(const HostCall& record) noexcept override {
    const std::string title = record.library == "MPI"      ? "BACKEND_MPI"
                              : record.library == "oneCCL" ? "BACKEND_CCL"
                                                           : "BACKEND_TUTTI";
    add("host|" + title + "|" + std::string(record.function), record.cause, 0, record.error != 0);
  }
  void on(const Allocation& record) noexcept override {
    add("allocation|BACKEND_TUTTI|" + std::string(record.owner), record.cause, record.bytes);
  }
  void on(const Free& record) noexcept override {
    add("release|BACKEND_TUTTI|" + std::string(record.owner), record.cause, record.bytes);
  }
  void on(const Traffic& record) noexcept override {
    const auto letter = [](Memory where) {
      const bool is_pinned = where.kind == MemoryKind::host && !where.device.is_host();
      return is_pinned ? "H" : where.kind == MemoryKind::host ? "M" : where.kind == MemoryKind::device ? "D" : "S";
    };
    add("traffic|BACKEND_TUTTI|" + std::string(record.owner) + " copy(" + letter(record.from) + "2" +
            letter(record.to) + ")",
        record.cause, record.bytes);
  }
  void on(const DeviceInterval& record) noexcept override {
    add("device|BACKEND_TUTTI|" + std::string(record.name), record.cause, 0);
  }

  ExpectedTally tally;

 private:
  struct Pending {
    std::string name, context;
    std::uint64_t bytes;
  };
  void add(const std::string& key, OperationId cause, std::uint64_t bytes, bool failed = false) noexcept {
    const std::scoped_lock lock(mutex_);
    const auto op = pending_.find(cause);
    tally.add(key + "|" + (with_contexts_ && op != pending_.end() ? op->second.context : ""), bytes, failed);
  }
  bool with_contexts_;
  std::mutex mutex_;
  std::unordered_map<OperationId, Pending> pending_;
};

/// The same operations on all ranks: blocking and asynchronous ones, groups, on a part of the ranks.
void run_randomly(const Communicator& comm, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Communicator half = comm.split(comm.rank() % 2);
  for (int i = 0; i < 300; ++i) {
    const Communicator& target = random() % 4 == 0 ? half : comm;
    const std::uint64_t count = std::uint64_t{1} << random() % 12;
    const std::uint64_t choice = random() % 20;
    const auto kind = static_cast<OpKind>(random() % kOpKindCount);
    std::vector<float> data(count);
    std::vector<float> received(count);
    if (choice < 14) {
      if (is_message(kind) && target.size() < 2) continue;
      OneOfEach(target, count).run(kind);
    } else if (choice < 17) {
      Work first = target.allreduce(data, {.async = true, .label = "gradient"});
      Work second = target.barrier({.async = true});
      first.wait();
      second.wait();
    } else {
      target.group([&] {
        target.send(data, (target.rank() + 1) % target.size());
        target.recv(received, (target.rank() + target.size() - 1) % target.size(), {.label = "ring"});
      });
    }
  }
}

int run_threads(const char* backend, int size, std::uint64_t seed) {
  RankOptions options;
  options.communicator.config.set("TUTTI_BACKEND", backend);
  const auto failures = run_ranks(
      size, [&](const Communicator& comm) { run_randomly(comm, seed); }, options);
  std::fputs(describe(failures).c_str(), stderr);
  return failures.empty() ? 0 : 1;
}

/// Rank 0 waits in vain: its operation fails.
int run_failures(std::uint64_t) {
  const auto group = local_group(2, {.config = Config().set("TUTTI_BACKEND", "native")});
  std::vector<float> data(100);
  int failures = 0;
  try {
    group[0].allreduce(data, {.timeout = std::chrono::milliseconds(100)});
  } catch (const Error& error) {
    failures += error.code() == ErrorCode::timeout ? 1 : 0;
  }
  return failures == 1 ? 0 : 1;
}

/// Sums on the memory of two sub-devices of a fake card, through host memory and in the order of streams.
int run_devices(std::uint64_t seed) {
  RankOptions options;
  options.communicator.config.set("TUTTI_BACKEND", "native");
  const auto failures = run_ranks(
      2,
      [&](const Communicator& comm) {
        std::mt19937_64 random(seed);
        const Device device = rank_devices("threaded")[static_cast<std::size_t>(comm.rank())];
        const auto own = spi::device_runtime(device).make_stream(device);
        for (int i = 0; i < 30; ++i) {
          const std::uint64_t count = 1 + random() % 3'000'000;
          const DeviceArray array(own->stream(), MemoryKind::device, count * sizeof(float));
          const Buffer data(array.data(), count, DataType::float32, array.where());
          comm.allreduce(data, {.stream = own->stream()}).wait();
        }
      },
      options);
  std::fputs(describe(failures).c_str(), stderr);
  return failures.empty() ? 0 : 1;
}

/// Named tensors of the Horovod engine, in three steps.
int run_tensors(std::uint64_t) {
  RankOptions options;
  options.communicator.config.set("TUTTI_BACKEND", "horovod:native");
  const auto failures = run_ranks(
      2,
      [&](const Communicator& comm) {
        const horovod::Engine engine(comm);
        std::vector<float> first(100, 1.0F);
        std::vector<float> second(5000, 1.0F);
        for (int step = 0; step < 3; ++step) {
          const auto a = engine.allreduce("layer \"1\"", first, first);
          const auto b = engine.allreduce("layer 2", second, second);
          a.wait();
          b.wait();
        }
      },
      options);
  std::fputs(describe(failures).c_str(), stderr);
  return failures.empty() ? 0 : 1;
}

/// A rank of a job of processes.
int run_world(std::uint64_t seed) {
  run_randomly(world(), seed);
  return 0;
}

int run(const std::string& scenario, std::uint64_t seed) {
  if (scenario == "native") return run_threads("native", 3, seed);
  if (scenario == "minimal") return run_threads("minimal", 3, seed);
  if (scenario == "failures") return run_failures(seed);
  if (scenario == "devices") return run_devices(seed);
  if (scenario == "tensors") return run_tensors(seed);
  if (scenario == "world") return run_world(seed);
  return 2;
}

}  // namespace
}  // namespace tutti::test

int main(int count, char** arguments) {
  if (count != 3) return 2;
  using namespace tutti::test;
  // Until the end of the process: libraries are finalised when it exits.
  static auto* const counter = new Counter(std::strcmp(arguments[1], "devices") != 0);
  static auto* const handle = new tutti::ObserverHandle(tutti::add_observer(*counter));
  (void)std::atexit([] {
    handle->reset();
    counter->tally.print();
  });
  return run(arguments[1], std::strtoull(arguments[2], nullptr, 10));
}

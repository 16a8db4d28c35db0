#include "native_backend.hpp"

#include <array>
#include <memory>
#include <string>

#include "device/device_collective.hpp"
#include "engine.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/backend.hpp"

#ifndef TUTTI_VERSION
#define TUTTI_VERSION "unknown"
#endif

namespace tutti::native {
namespace {

constexpr spi::Capabilities kCapabilities = spi::Capabilities::all().set_rank_order(true);

class NativePending final : public spi::PendingOperation {
 public:
  NativePending(Engine& engine, const Operation& operation)
      : engine_(engine), operation_(operation), task_(engine, operation_) {
    task_.start_clock();
  }

 private:
  bool do_poll() override { return task_.done() || engine_.poll(task_); }
  bool do_wait(spi::Deadline until) override {
    if (task_.done()) return true;
    engine_.check_alive(operation_);
    return engine_.drive(task_, until);
  }

  Engine& engine_;
  Operation operation_;
  Task task_;
};

class NativeCommunicator final : public spi::BackendCommunicator {
 public:
  explicit NativeCommunicator(const spi::CreateContext& context)
      : BackendCommunicator(kCapabilities), engine_(context) {}

 private:
  void do_run(const Operation& operation) override {
    if (operation.where.kind == MemoryKind::device) [[unlikely]] {
      on_device_.run(operation);
      return;
    }
    engine_.check_alive(operation);
    Task task(engine_, operation);
    (void)engine_.drive(task, spi::Deadline::max());
  }
  bool do_may_reach(const Operation& operation) const override {
    return engine_.size() > 1 && engine_.may_meet_on_device(operation);
  }
  bool do_reaches(const Operation& operation) override { return on_device_.prepare(operation); }
  std::unique_ptr<spi::PendingOperation> do_start(const Operation& operation) override {
    engine_.check_alive(operation);
    try {
      auto pending = std::make_unique<NativePending>(engine_, operation);
      engine_.nudge();  // ranks that wait for this one should not wait until the next poll
      return pending;
    } catch (...) {
      engine_.renounce(operation);
      throw;
    }
  }
  void do_abort() noexcept override { engine_.abort(); }

  Engine engine_;
  DeviceCollective on_device_{engine_};
};

std::string several_hosts(const spi::Peers& peers) {
  for (std::size_t r = 1; r < peers.hosts.size(); ++r) {
    if (peers.hosts[r] == peers.hosts[0]) continue;
    return "ranks are on several hosts: rank 0 on " + peers.hosts[0] + ", rank " + std::to_string(r) + " on " +
           peers.hosts[r];
  }
  return "ranks are on several hosts";
}

spi::Probe probe(const spi::ProbeContext& context) {
  spi::Probe result;
  result.version = TUTTI_VERSION;
  result.preference = 100;
  result.capabilities = kCapabilities;
  result.usable = context.peers == nullptr || context.peers->same_host;
  result.reason =
      result.usable ? "built in: shared memory between the ranks of one host" : several_hosts(*context.peers);
  return result;
}

std::unique_ptr<spi::BackendCommunicator> create(const spi::CreateContext& context) {
  return std::make_unique<NativeCommunicator>(context);
}

constexpr std::array kSettings = {
    Setting{.name = "TUTTI_NATIVE_DIRECT",
            .default_value = "1",
            .kind = SettingKind::flag,
            .help = "Let ranks read and write each other's buffers directly where possible: buffers of threads of one "
                    "process, memory from tutti::allocate() or tutti::share(), and device memory.",
            .common = true},
    Setting{
        .name = "TUTTI_NATIVE_SEGMENT",
        .default_value = "auto",
        .kind = SettingKind::choice,
        .help =
            "Shared memory between processes: a memfd, a file in /dev/shm (shm), or the first of the two that works "
            "on all ranks (auto).",
        .choices = "auto|memfd|shm",
        .common = true},
    Setting{.name = "TUTTI_NATIVE_SEGMENT_BYTES",
            .default_value = "16M",
            .kind = SettingKind::bytes,
            .help = "Limit of the shared memory of a communicator of up to 64 ranks; it grows with the square of the "
                    "number of ranks beyond that.",
            .common = true},
};

constexpr spi::BackendModule kModule = {
    .name = "native",
    .variant = {},
    .description = "shared memory between processes or threads of one host, built in",
    .settings = kSettings,
    .probe = probe,
    .create = create,
};

}  // namespace
}  // namespace tutti::native

extern "C" const tutti::spi::BackendModule* tutti_backend_native_module() { return &tutti::native::kModule; }

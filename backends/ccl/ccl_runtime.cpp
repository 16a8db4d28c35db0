#include "ccl_runtime.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "ccl_threads.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"
#include "tutti/spi/home_process.hpp"
#include "tutti/spi/process_exit.hpp"
#include "tutti/spi/thread.hpp"

namespace tutti::ccl {
namespace {

// Never destroyed: communicators in static storage use them after static destructors have run.
std::mutex& runtime_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
Runtime* the_runtime = nullptr;
std::atomic<bool> exiting = false;
std::atomic<bool> calls_left_behind = false;

constexpr std::chrono::seconds kLongestExit{2};

/// Time in which the watcher finds the rank because of which a thread of oneCCL has failed.
constexpr std::chrono::seconds kCauseFound{3};

spi::HomeProcess& the_home() {
  static auto* home = new spi::HomeProcess;
  return *home;
}

[[noreturn]] void end_at_once(int status) {
  (void)std::fflush(nullptr);
  ::_exit(status);
}

/// oneCCL's destructors wait without a limit for calls that were left behind.
void limit_exit(int status) noexcept {
  static bool is_limited = false;
  if (std::exchange(is_limited, true)) return;
  try {
    spi::start_thread("tutti-exit", [status] {
      std::this_thread::sleep_for(kLongestExit);
      spi::leave_job();
      end_at_once(status);
    }).detach();
  } catch (const std::exception&) {
    // Out of memory: the destructors may still return.
  }
}

/// Runs before the destructors of oneCCL, which was opened earlier.
void note_exit(int status, void* home) {
  exiting.store(true, std::memory_order_relaxed);
  if (static_cast<const spi::HomeProcess*>(home)->is_here()) {
    if (calls_left_behind.load(std::memory_order_relaxed)) limit_exit(status);
    return;
  }
  // A forked child: oneCCL's destructors would wait for threads that it does not have.
  end_at_once(status);
}

/// Path of a file in the folder of this module, where the bridges are.
std::string beside_module(const char* file) {
  Dl_info info{};
  static const char anchor = 0;
  if (dladdr(&anchor, &info) == 0 || info.dli_fname == nullptr) return file;
  return (std::filesystem::path(info.dli_fname).parent_path() / file).string();
}

/// Sets the rank of this process among the ranks of its host, and their number.
void count_local_ranks(const spi::Peers& peers, Surroundings& here) {
  const auto own = static_cast<std::size_t>(peers.rank);
  if (own >= peers.hosts.size()) return;
  const auto begin = peers.hosts.begin();
  here.local_rank = static_cast<int>(std::count(begin, begin + peers.rank, peers.hosts[own]));
  here.local_size = static_cast<int>(std::count(begin, peers.hosts.end(), peers.hosts[own]));
}

}  // namespace

ApiKind Runtime::api(const Config& config) { return config.text("TUTTI_CCL_API") == "c" ? ApiKind::c : ApiKind::cpp; }

const Library& Runtime::library(const Config& config) {
  static std::map<ApiKind, const Library*> opened;
  static const Library other = {
      .failure =
          "this process already uses oneCCL's other interface, and a process can use only one of them; do not change "
          "TUTTI_CCL_API between communicators"};
  const ApiKind wanted = api(config);
  const std::lock_guard lock(runtime_mutex());
  if (the_runtime != nullptr && the_runtime->api_ != wanted) return other;
  const Library*& library = opened[wanted];
  if (library == nullptr) {
    library = new Library(open_library({.root = config.text("TUTTI_ONECCL_ROOT"),
                                        .root_is_chosen = config.source("TUTTI_ONECCL_ROOT") != "default",
                                        .bridge = beside_module(kBridgeFile),
                                        .queue_bridge = beside_module(kQueueBridgeFile),
                                        .api = wanted},
                                       spi::environment));
  }
  return *library;
}

Runtime& Runtime::started(const spi::CreateContext& context) {
  const Library& found = library(context.config);
  if (!found.is_usable()) throw Error(ErrorCode::backend_unavailable, "oneCCL: " + found.failure, "ccl");
  // The ranks of a parent have agreed already.
  const bool has_agreed = context.parent != nullptr;
  const Transport transport = has_agreed
                                  ? Transport::ofi
                                  : agree_on_transport(context.rendezvous, offer_of_this_process(found, context.config),
                                                       context.peers.same_host);
  const std::lock_guard lock(runtime_mutex());
  if (the_runtime == nullptr) the_runtime = new Runtime(found, context.peers, transport);
  if (!has_agreed && the_runtime->transport_ != transport) {
    throw Error(ErrorCode::invalid_usage,
                "two threads started oneCCL at the same time with different transports; create the communicator of all "
                "ranks first",
                "ccl");
  }
  the_runtime->users_.require_usable();
  return *the_runtime;
}

TransportOffer Runtime::offer_of_this_process(const Library& library, const Config& config) {
  const std::lock_guard lock(runtime_mutex());
  if (the_runtime != nullptr) {
    return {.is_decided = true, .transport = the_runtime->transport_, .is_confined = the_runtime->is_confined_};
  }
  const Surroundings here = surroundings(library, spi::environment);
  const bool enqueues = here.has_gpu || config.text("TUTTI_CCL_QUEUES") == "direct";
  return offer_of_process(enqueues ? std::string() : here.mpi_library, spi::environment);
}

Runtime::Runtime(const Library& library, const spi::Peers& peers, Transport transport)
    : api_(library.api), transport_(transport) {
  Surroundings here = surroundings(library, spi::environment);
  if (transport != Transport::mpi) here.mpi_library.clear();
  count_local_ranks(peers, here);
  here.same_host = peers.same_host;
  const bool quiet = !spi::environment("CCL_LOG_LEVEL").has_value();
  // setenv() is not safe while other threads read the environment, so it runs only once, before oneCCL starts threads.
  variables_ = variables_for(here, spi::environment);
  is_confined_ = std::ranges::find(variables_, Variable{kStoreInterface, kLoopback}) != variables_.end();
  for (const Variable& variable : variables_) {
    setenv(variable.name.c_str(), variable.value.c_str(), 0);
  }
  // Before objects in static storage are destroyed that were made before oneCCL was started.
  on_exit(&note_exit, &the_home());
  (void)hold_failed_threads("libccl.so.1", &Runtime::note_failed_thread);
  interface_ = start(library, {.quiet = quiet, .takes_turns = takes_turns(library.api, spi::environment)});
}

void Runtime::cover_exit() { [[maybe_unused]] static const int registered = on_exit(&note_exit, &the_home()); }

void Runtime::note_failed_thread(const std::string& text) {
  note_calls_left_behind();
  std::this_thread::sleep_for(kCauseFound);
  const std::lock_guard lock(runtime_mutex());
  if (the_runtime == nullptr) return;
  the_runtime->users_.interrupt_all(
      Error(ErrorCode::backend_failure, "a thread of oneCCL's own has failed: " + text, "ccl"));
}

void Runtime::note_calls_left_behind() noexcept { calls_left_behind.store(true, std::memory_order_relaxed); }

bool Runtime::is_exiting() noexcept { return exiting.load(std::memory_order_relaxed); }

CreationLock& Runtime::creation_lock(const Rendezvous& rendezvous) {
  const std::lock_guard lock(runtime_mutex());
  // Never replaced: workers that were left behind may still use the lock. A communicator of one rank does not use it,
  // and has a store of its own, which must not be kept.
  const Store* const job = rendezvous.size() > 1 ? rendezvous.store().get() : nullptr;
  std::unique_ptr<CreationLock>& creation_lock = creation_locks_[job];
  if (creation_lock == nullptr) creation_lock = std::make_unique<CreationLock>(rendezvous);
  return *creation_lock;
}

}  // namespace tutti::ccl

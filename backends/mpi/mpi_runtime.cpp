#include "mpi_runtime.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "common/intel_mpi.hpp"
#include "setup/setup_calls.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"
#include "tutti/spi/home_process.hpp"
#include "tutti/spi/process_exit.hpp"
#include "tutti/spi/thread.hpp"

namespace tutti::mpi {
namespace {

// Never destroyed: exit handlers, and communicators in static storage, use them after static destructors have run.
std::mutex& runtime_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
Runtime* the_runtime = nullptr;
std::atomic<bool> leave_without_finalize = false;

constexpr std::chrono::seconds kLongestExit{2};

const spi::HomeProcess& the_home() {
  static const auto* const home = new spi::HomeProcess;
  return *home;
}

constexpr Abi kOtherAbi = kAbi == Abi::openmpi ? Abi::mpich : Abi::openmpi;

int requested_level(const Config& config) {
  const std::string& level = config.text("TUTTI_MPI_THREAD_LEVEL");
  if (level == "single") return MPI_THREAD_SINGLE;
  if (level == "funneled") return MPI_THREAD_FUNNELED;
  if (level == "serialized") return MPI_THREAD_SERIALIZED;
  return MPI_THREAD_MULTIPLE;
}

/// Calls MPI_Finalize when the process exits with status 0, as MPI requires. A process that exits with an error must
/// not call it: MPI_Finalize waits for the other ranks, which may be waiting for this one; without it the launcher sees
/// a failed rank and ends the job. A forked child must not call it either.
void finalize_at_exit(int status, void*) {
  if (status != 0 || !the_runtime->is_at_home() || leave_without_finalize.load(std::memory_order_relaxed) ||
      the_runtime->is_finalized())
    return;
  // MPI_Finalize would wait for ranks that have failed, or that still wait for this one.
  if (!spi::ranks_follow_at_exit()) return;
  the_runtime->api().finalize();
}

/// An interrupted call may have left locks of the library behind, for which its destructors would wait for ever.
void limit_exit(int status, void*) {
  if (!the_home().is_here() || !Runtime::users().is_interrupted()) return;
  try {
    spi::start_thread("tutti-exit", [status] {
      std::this_thread::sleep_for(kLongestExit);
      spi::leave_job();
      (void)std::fflush(nullptr);
      ::_exit(status);
    }).detach();
  } catch (const std::exception&) {
    // Out of memory: the destructors may still return.
  }
}

void finalize_with_process() {
#if defined(__GLIBC__)
  on_exit(&finalize_at_exit, nullptr);
#else
  std::atexit([] { finalize_at_exit(0, nullptr); });
#endif
}

}  // namespace

const Library& Runtime::library(const Config& config) {
  const std::lock_guard lock(runtime_mutex());
  static const auto* library = new Library(open_library(kAbi, config.text("TUTTI_MPI_LIBRARY"), spi::environment));
  return *library;
}

bool Runtime::is_running() { return is_initialized_in_process(kAbi); }

Runtime& Runtime::started(const Config& config, SetupCalls& calls) {
  const Library& found = library(config);
  if (found.handle == nullptr) throw Error(ErrorCode::backend_unavailable, "MPI: " + found.failure, "mpi");
  const std::lock_guard lock(runtime_mutex());
  users().require_usable();
  if (the_runtime == nullptr) {
    if (is_initialized_in_process(kOtherAbi)) {
      throw Error(ErrorCode::backend_unavailable,
                  "an MPI with the ABI \"" + std::string(name(kOtherAbi)) +
                      "\" is already running in this process, so " + found.version + " cannot be started",
                  "mpi");
    }
    the_runtime = new Runtime(found, config, calls);
  }
  if (the_runtime->is_finalized()) {
    throw Error(
        ErrorCode::invalid_usage,
        "MPI was finalised in this process and cannot be used again; call MPI_Finalize after the last use of tutti",
        "mpi");
  }
  return *the_runtime;
}

Runtime::Runtime(const Library& library, const Config& config, SetupCalls& calls)
    : api_([&library](const char* symbol) { return library.find(symbol); }),
      version_(library.version),
      is_intel_(library.product == "intel") {
  initialize(config, calls);
  gpus_ = GpuSupport::of(api_);
  types_ = std::make_unique<Types>(api_, [&library](const char* symbol) { return library.find(symbol); });
}

void Runtime::initialize(const Config& config, SetupCalls& calls) {
  if (is_finalized())
    throw Error(ErrorCode::invalid_usage, "MPI was finalised in this process and cannot be started again", "mpi");
  int initialized = 0;
  int level = MPI_THREAD_SINGLE;
  check(api_, api_.initialized(&initialized), "checking whether MPI is initialised");
  if (initialized != 0) {
    check(api_, api_.query_thread(&level), "getting the thread level of MPI");
    int is_main = 0;
    check(api_, api_.is_thread_main(&is_main), "checking for the main thread of MPI");
    if (is_main == 0 && level < MPI_THREAD_SERIALIZED) refuse_other_threads(level);
    gate_.set_level(level);
    return;
  }
  if (is_intel_) setenv(common::kIntelAllgathervVariable, common::kIntelAllgathervChoice, 0);
  const int code = calls.carry_out([&] { return api_.init_thread(nullptr, nullptr, requested_level(config), &level); });
  check(api_, code, "starting MPI");
  gate_.set_level(level);
  // tutti started MPI, so no other code relies on the default error handlers.
  check(api_, api_.comm_set_errhandler(api_.handles.comm_world, api_.handles.errors_return), "starting MPI");
  check(api_, api_.comm_set_errhandler(api_.handles.comm_self, api_.handles.errors_return), "starting MPI");
  finalize_with_process();
}

common::LibraryUsers& Runtime::users() noexcept {
  static auto* const users = new common::LibraryUsers("MPI", "mpi");  // never destroyed, as above
  return *users;
}

void Runtime::skip_finalize() noexcept {
  (void)the_home();
  // Registered now, so that it runs before the handlers of the library.
  if (!leave_without_finalize.exchange(true)) (void)on_exit(&limit_exit, nullptr);
}

bool Runtime::is_finalized() const {
  int finalized = 0;
  return api_.finalized(&finalized) != MPI_SUCCESS || finalized != 0;
}

}  // namespace tutti::mpi

#include "launch/mpi_bootstrap.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"
#include "tutti/spi/host_number.hpp"

namespace tutti::mpi {
namespace {

using Clock = std::chrono::steady_clock;

// Ranks start within some milliseconds of each other: poll often at first, then leave the core to the late ranks.
constexpr int kEagerPolls = 1000;
constexpr auto kPollPause = std::chrono::microseconds(200);

}  // namespace

template <typename Memory, typename Start>
std::unique_ptr<Memory> Bootstrap::complete(std::unique_ptr<Memory> memory, const char* what, Start start) {
  const Api& api = runtime_.api();
  const Clock::time_point begin = Clock::now();
  MPI_Request request = api.handles.request_null;
  try {
    check(api, calls_.carry_out([&] { return start(*memory, &request); }), what);
    for (int polls = 0;; ++polls) {
      int done = 0;
      check(api, calls_.carry_out([&] { return api.test(&request, &done, MPI_STATUS_IGNORE); }), what);
      if (done != 0) return memory;
      if (timeout_ && Clock::now() - begin >= *timeout_) throw Error(late(what));
      if (polls < kEagerPolls) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(kPollPause);
      }
    }
  } catch (...) {
    (void)memory.release();  // MPI may still use it
    is_abandoned_ = true;
    Runtime::skip_finalize();
    throw;
  }
}

Error Bootstrap::late(const char* what) const {
  return watch_ != nullptr ? watch_->late(what) : late_start({rank_, size_}, *timeout_, what, {});
}

Bootstrap::Bootstrap(Runtime& runtime, MPI_Comm comm, std::optional<std::chrono::nanoseconds> timeout,
                     std::unique_ptr<StartWatch> watch)
    : runtime_(runtime),
      watch_(std::move(watch)),
      own_calls_("meeting the ranks of an MPI communicator"),
      calls_(watch_ != nullptr ? watch_->calls() : own_calls_),
      comm_(runtime.api().handles.comm_null),
      timeout_(timeout) {
  const Entry entry(runtime_.gate());
  const Api& api = runtime_.api();
  check(api, api.comm_rank(comm, &rank_), "getting the rank");
  check(api, api.comm_size(comm, &size_), "getting the size");
  // Non-blocking, because a rank may never come; MPI_Comm_dup would wait for it for ever.
  comm_ = *complete(std::make_unique<MPI_Comm>(comm_), "duplicating the communicator of the job",
                    [&](MPI_Comm& copy, MPI_Request* request) { return api.comm_idup(comm, &copy, request); });
  check(api, api.comm_set_errhandler(comm_, api.handles.errors_return), "duplicating the communicator of the job");
  struct Hosts {
    std::uint64_t mine;
    std::vector<std::uint64_t> all;
  };
  auto hosts =
      std::make_unique<Hosts>(Hosts{spi::host_number(), std::vector<std::uint64_t>(static_cast<std::size_t>(size_))});
  hosts = complete(std::move(hosts), "comparing the hosts of the ranks", [&](Hosts& memory, MPI_Request* request) {
    constexpr int kBytes = sizeof memory.mine;
    return api.nonblocking.allgather(&memory.mine, kBytes, api.handles.byte, memory.all.data(), kBytes,
                                     api.handles.byte, comm_, request);
  });
  same_host_ = std::ranges::all_of(hosts->all, [&](std::uint64_t host) { return host == hosts->mine; });
}

Bootstrap::~Bootstrap() {
  if (is_abandoned_ || runtime_.is_finalized()) return;
  // If this thread may not call MPI, MPI_Finalize frees the communicator.
  if (const Entry entry(runtime_.gate(), std::nothrow); entry) runtime_.api().comm_free(&comm_);
}

std::string Bootstrap::broadcast(std::string_view value) {
  const Entry entry(runtime_.gate());
  const Api& api = runtime_.api();
  const char* const what = "broadcasting the address of the store from rank 0";
  const auto length =
      complete(std::make_unique<std::uint64_t>(value.size()), what, [&](std::uint64_t& memory, MPI_Request* request) {
        return api.nonblocking.broadcast(&memory, sizeof memory, api.handles.byte, 0, comm_, request);
      });
  if (*length > INT32_MAX)
    throw Error(ErrorCode::invalid_argument,
                "the bootstrap value has " + std::to_string(*length) + " bytes; at most 2147483647 are possible",
                "mpi");
  auto text = std::make_unique<std::string>(*length, '\0');
  if (rank_ == 0) *text = value;
  text = complete(std::move(text), what, [&](std::string& memory, MPI_Request* request) {
    return api.nonblocking.broadcast(memory.data(), static_cast<int>(*length), api.handles.byte, 0, comm_, request);
  });
  return std::move(*text);
}

std::unique_ptr<spi::Bootstrap> bootstrap_from_launcher(const Config& config) {
  const bool library_given = !config.text("TUTTI_MPI_LIBRARY").empty();
  const std::optional<Launch> launch = find_launch(kAbi, spi::environment, library_given);
  if (!Runtime::is_running() && (!launch || launch->size == 1)) return nullptr;
  const auto timeout = config.duration("TUTTI_RENDEZVOUS_TIMEOUT");
  auto watch = launch && launch->size > 1 ? std::make_unique<StartWatch>(*launch, timeout) : nullptr;
  SetupCalls alone("starting MPI");
  Runtime& runtime = Runtime::started(config, watch != nullptr ? watch->calls() : alone);
  if (watch != nullptr) watch->note_started();
  const Entry entry(runtime.gate());
  int size = 1;
  check(runtime.api(), runtime.api().comm_size(runtime.api().handles.comm_world, &size), "getting the size of the job");
  if (size == 1) {
    refuse_singleton(launch, runtime.version());
    return nullptr;
  }
  return std::make_unique<Bootstrap>(runtime, runtime.api().handles.comm_world, timeout, std::move(watch));
}

MPI_Comm comm_of(const spi::ForeignHandle& handle) {
  if (handle.backend != "mpi" || (!handle.variant.empty() && handle.variant != name(kAbi)) ||
      handle.object == nullptr || handle.bytes != sizeof(MPI_Comm)) {
    throw Error(ErrorCode::invalid_argument,
                "the handle (backend \"" + std::string(handle.backend) + "\", variant \"" +
                    std::string(handle.variant) + "\", " + std::to_string(handle.bytes) +
                    " bytes) is not an MPI_Comm of the ABI \"" + std::string(name(kAbi)) + "\"",
                "mpi");
  }
  MPI_Comm comm;
  std::memcpy(&comm, handle.object, sizeof comm);
  return comm;
}

std::unique_ptr<spi::Bootstrap> bootstrap_from_handle(const spi::ForeignHandle& handle) {
  const MPI_Comm comm = comm_of(handle);
  if (!Runtime::is_running()) {
    throw Error(ErrorCode::invalid_usage, "MPI is not running, so the MPI_Comm cannot be used; call MPI_Init first",
                "mpi");
  }
  const Config config = Config::unchecked().without_invalid();
  SetupCalls calls("using the MPI of the application");
  return std::make_unique<Bootstrap>(Runtime::started(config, calls), comm, config.duration("TUTTI_RENDEZVOUS_TIMEOUT"),
                                     nullptr);
}

}  // namespace tutti::mpi

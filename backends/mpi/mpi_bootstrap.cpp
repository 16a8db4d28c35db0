#include "mpi_bootstrap.hpp"

#include <cstdint>
#include <cstring>

#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"

namespace tutti::mpi {
namespace {

/// Number of ranks that share memory with this one, itself included; collective.
int size_of_host(const Api& api, MPI_Comm comm) {
  MPI_Comm host = api.handles.comm_null;
  int size = 0;
  check(api, api.comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, api.handles.info_null, &host),
        "counting the ranks of this host");
  check(api, api.comm_size(host, &size), "counting the ranks of this host");
  check(api, api.comm_free(&host), "counting the ranks of this host");
  return size;
}

}  // namespace

Bootstrap::Bootstrap(Runtime& runtime, MPI_Comm comm) : runtime_(runtime), comm_(runtime.api().handles.comm_null) {
  const Entry entry(runtime_.gate());
  const Api& api = runtime_.api();
  check(api, api.comm_dup(comm, &comm_), "duplicating the communicator of the job");
  check(api, api.comm_set_errhandler(comm_, api.handles.errors_return), "duplicating the communicator of the job");
  check(api, api.comm_rank(comm_, &rank_), "getting the rank");
  check(api, api.comm_size(comm_, &size_), "getting the size");
  same_host_ = size_of_host(api, comm_) == size_;
}

Bootstrap::~Bootstrap() {
  if (runtime_.is_finalized()) return;
  // If this thread may not call MPI, MPI_Finalize frees the communicator.
  if (const Entry entry(runtime_.gate(), std::nothrow); entry) runtime_.api().comm_free(&comm_);
}

std::string Bootstrap::broadcast(std::string_view value) {
  const Entry entry(runtime_.gate());
  const Api& api = runtime_.api();
  std::uint64_t length = value.size();
  check(api, api.blocking.broadcast(&length, sizeof length, api.handles.byte, 0, comm_), "broadcasting from rank 0");
  if (length > INT32_MAX)
    throw Error(ErrorCode::invalid_argument,
                "the bootstrap value has " + std::to_string(length) + " bytes; at most 2147483647 are possible", "mpi");
  std::string result(length, '\0');
  if (rank_ == 0) result = value;
  check(api, api.blocking.broadcast(result.data(), static_cast<int>(length), api.handles.byte, 0, comm_),
        "broadcasting from rank 0");
  return result;
}

std::unique_ptr<spi::Bootstrap> bootstrap_from_launcher(const Config& config) {
  if (!Runtime::is_running()) {
    const bool library_given = !config.text("TUTTI_MPI_LIBRARY").empty();
    const auto launch = find_launch(kAbi, spi::environment, library_given);
    if (!launch || launch->size == 1) return nullptr;
    // A PMIx launcher shows neither the ABI nor, perhaps, the size, and may not have started an MPI job at all. A
    // missing library is then no error.
    if (launch->size == 0 && Runtime::library(config).handle == nullptr) return nullptr;
  }
  Runtime& runtime = Runtime::started(config);
  const Entry entry(runtime.gate());
  int size = 1;
  check(runtime.api(), runtime.api().comm_size(runtime.api().handles.comm_world, &size), "getting the size of the job");
  if (size == 1) return nullptr;
  return std::make_unique<Bootstrap>(runtime, runtime.api().handles.comm_world);
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
  return std::make_unique<Bootstrap>(Runtime::started(Config()), comm);
}

}  // namespace tutti::mpi

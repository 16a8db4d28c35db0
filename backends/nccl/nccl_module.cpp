// The module table that the registry loads.
#include <dlfcn.h>

#include <array>
#include <mutex>
#include <string>

#include "common/identifier.hpp"
#include "nccl_backend.hpp"
#include "nccl_device.hpp"
#include "nccl_library.hpp"
#include "nccl_types.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/nested.hpp"

namespace tutti::nccl {
namespace {

// Below the native engine (100) and MPI (50), above oneCCL (40).
constexpr int kPreference = 45;

constexpr std::array<Setting, 1> kSettings = {{
    {"TUTTI_NCCL_LIBRARY", "", SettingKind::text,
     "File of the NCCL library; by default libnccl.so.2 in the search path, else the one found at build time."},
}};

/// The library. The first call opens it, with the setting of that call; it is never closed.
const Library& library(const Config& config) {
  static std::mutex mutex;
  static const Library* opened = nullptr;
  const std::scoped_lock lock(mutex);
  if (opened == nullptr) {
    opened = new Library(open_library(config.text("TUTTI_NCCL_LIBRARY"), {TUTTI_NCCL_LIBRARY_DIR}));
  }
  return *opened;
}

/// The functions of an opened library. Throws Error{backend_unavailable}.
const Api& api(const Library& library) {
  static const Api* const table = new Api([&](const char* name) { return dlsym(library.handle, name); });
  return *table;
}

spi::Probe probe(const spi::ProbeContext& context) {
  spi::Probe probe;
  probe.capabilities = capabilities(kOldestVersion);
  // Opening the library maps 200 MB, so it is opened only where it may be used.
  if (context.peers != nullptr && context.peers->same_host && !context.named) {
    probe.reason =
        "not looked for, because the native engine serves ranks on one host; set TUTTI_BACKEND=nccl to use NCCL";
    return probe;
  }
  const Library& found = library(context.config);
  probe.version = found.version;
  probe.capabilities = capabilities(found.number);
  probe.reason = found.failure;
  if (found.handle == nullptr) return probe;
  try {
    (void)api(found);
    (void)Device::parse("cuda");
  } catch (const Error& error) {
    probe.reason = found.file + " was found but cannot be used: " + error.what();
    return probe;
  }
  probe.usable = true;
  probe.preference = kPreference;
  probe.reason = found.file;
  return probe;
}

extern const spi::BackendModule kModule;

std::unique_ptr<spi::BackendCommunicator> create(const spi::CreateContext& context) {
  const Library& found = library(context.config);
  if (found.handle == nullptr) throw Error(ErrorCode::backend_unavailable, "NCCL: " + found.failure, "nccl");
  Device device;
  if (const auto* parent = spi::parent_of<Communicator>(context, kModule)) {
    device = parent->device();
  } else {
    common::run_together(context.rendezvous, "nccl.place", [&] { device = rank_device(context); });
    require_own_devices(context, device);
  }
  return std::make_unique<Communicator>(api(found), found.number, device, context);
}

constexpr spi::BackendModule kModule = {
    .name = "nccl",
    .variant = {},
    .description = "NVIDIA Collective Communications Library (NCCL)",
    .settings = kSettings,
    .probe = probe,
    .create = create,
};

}  // namespace
}  // namespace tutti::nccl

extern "C" TUTTI_API const tutti::spi::BackendModule* tutti_backend_module() { return &tutti::nccl::kModule; }

#include <array>

#include "cuda_library.hpp"
#include "cuda_runtime.hpp"
#include "tutti/error.hpp"
#include "tutti/export.hpp"
#include "tutti/spi/device_module.hpp"

namespace tutti::cuda_device {
namespace {

spi::DeviceProbe probe(const Config& config) {
  spi::DeviceProbe result;
  try {
    const Library& library = open_library(config.text("TUTTI_CUDA_LIBRARY"));
    result.usable = library.api != nullptr;
    result.version = library.version;
    result.reason =
        result.usable ? std::to_string(library.devices) + " devices, with " + library.origin : library.failure;
  } catch (const std::exception& error) {
    result.reason = error.what();
  }
  return result;
}

std::unique_ptr<spi::DeviceRuntime> open(const spi::DeviceContext& context) {
  const Library& library = open_library(context.config.text("TUTTI_CUDA_LIBRARY"));
  if (library.api == nullptr) throw Error(ErrorCode::backend_unavailable, library.failure, "cuda");
  return make_runtime(library, context.module);
}

constexpr std::array kSettings = {
    Setting{.name = "TUTTI_CUDA_LIBRARY",
            .default_value = "",
            .help = "File of the libcudart to use; unset: the program's own, or the newest that the driver can run."},
};

constexpr spi::DeviceModule kModule = {
    .name = "cuda",
    .variant = {},
    .description = "CUDA streams and memory: NVIDIA GPUs",
    .settings = kSettings,
    .probe = probe,
    .open = open,
};

}  // namespace
}  // namespace tutti::cuda_device

extern "C" TUTTI_API const tutti::spi::DeviceModule* tutti_device_module() { return &tutti::cuda_device::kModule; }

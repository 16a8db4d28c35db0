#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <string_view>

#include "sycl_library.hpp"
#include "sycl_runtime.hpp"
#include "tutti/error.hpp"
#include "tutti/export.hpp"
#include "tutti/spi/device_module.hpp"

namespace tutti::sycl_device {
namespace {

std::unique_ptr<spi::DeviceRuntime> start(const Config& config, std::uint16_t module) {
  const Library& library = open_library(config.text("TUTTI_SYCL_LIBRARY"));
  if (library.runtime == nullptr) throw Error(ErrorCode::backend_unavailable, library.failure, "sycl");
  const auto open = reinterpret_cast<decltype(&tutti_sycl_open)>(dlsym(library.runtime, "tutti_sycl_open"));
  if (open == nullptr) {
    throw Error(ErrorCode::backend_unavailable,
                TUTTI_SYCL_RUNTIME_FILE " is of another version of tutti: function tutti_sycl_open is missing", "sycl");
  }
  // A runtime that failed to start must not be started again: 2026.2 crashes the second time if the Level Zero loader
  // is too old for it.
  static std::mutex mutex;
  static std::optional<Error> failure;
  const std::scoped_lock lock(mutex);
  if (failure) throw Error(*failure);
  try {
    return std::unique_ptr<spi::DeviceRuntime>(open(module, config.integer("TUTTI_SYCL_CPU_PARTS")));
  } catch (const Error& error) {
    failure.emplace(error.code(), error.what() + missing_device_hint(library), error.backend(), error.vendor_code());
    throw Error(*failure);
  }
}

spi::DeviceProbe probe(const Config& config) {
  spi::DeviceProbe result;
  try {
    const auto runtime = start(config, 0);
    const auto devices = runtime->devices();
    const Library& library = open_library(config.text("TUTTI_SYCL_LIBRARY"));
    result.usable = true;
    constexpr std::string_view kVersioned = "libsycl.so.";
    if (const std::size_t at = library.origin.find(kVersioned); at != std::string::npos) {
      result.version = library.origin.substr(at + kVersioned.size());
    }
    result.reason = std::to_string(std::ranges::count_if(
                        devices, [](const DeviceInfo& info) { return info.device.sub_device() < 0; })) +
                    " devices, with " + library.origin;
  } catch (const std::exception& error) {
    result.reason = error.what();
  }
  return result;
}

std::unique_ptr<spi::DeviceRuntime> open(const spi::DeviceContext& context) {
  return start(context.config, context.module);
}

constexpr std::array kSettings = {
    Setting{.name = "TUTTI_SYCL_LIBRARY",
            .default_value = "",
            .help = "File of the libsycl to use if the program brings none; unset: the one the loader finds."},
    Setting{.name = "TUTTI_SYCL_CPU_PARTS",
            .default_value = "2",
            .kind = SettingKind::integer,
            .help = "Number of equal sub-devices into which a CPU is partitioned; 0 or 1: not partitioned."},
};

constexpr spi::DeviceModule kModule = {
    .name = "sycl",
    .variant = {},
    .description = "SYCL queues and USM: GPUs with their tiles, and CPUs",
    .settings = kSettings,
    .probe = probe,
    .open = open,
};

}  // namespace
}  // namespace tutti::sycl_device

extern "C" TUTTI_API const tutti::spi::DeviceModule* tutti_device_module() { return &tutti::sycl_device::kModule; }

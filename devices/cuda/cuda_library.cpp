#include "cuda_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"

namespace tutti::cuda_device {

namespace {

namespace fs = std::filesystem;

// Newest first.
constexpr std::array kNames = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"};

std::string loader_message() {
  const char* text = dlerror();
  return text != nullptr ? text : "unknown reason";
}

std::string file_of(void* handle) {
  link_map* map = nullptr;
  std::error_code error;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? fs::canonical(map->l_name, error).string() : std::string();
}

SymbolLookup symbols_of(void* handle) {
  return [handle](const char* name) { return dlsym(handle, name); };
}

/// 13000 is 13.0.
std::string version_text(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

/// Why the runtime has no devices, in more detail than the error of cudaGetDeviceCount.
std::string reason_for(const Api& api, cudaError_t error, int runtime_version, int driver_version) {
  if (driver_version == 0) {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver == nullptr) return "there is no NVIDIA driver: " + loader_message();
    return "the NVIDIA driver does not start: " + api.text(error);
  }
  if (error == cudaErrorInsufficientDriver) {
    return "the NVIDIA driver is for CUDA " + version_text(driver_version) + ", too old for a libcudart of CUDA " +
           version_text(runtime_version) + "; update the driver, or set TUTTI_CUDA_LIBRARY to an older libcudart";
  }
  if (error == cudaErrorNoDevice) {
    if (const auto mask = spi::environment("CUDA_VISIBLE_DEVICES")) {
      return "CUDA_VISIBLE_DEVICES='" + *mask + "' hides every NVIDIA GPU";
    }
    return "the NVIDIA driver finds no GPU";
  }
  return "cudaGetDeviceCount: " + api.text(error);
}

/// Checks an opened libcudart; `api` is null and `failure` has the reason when it is not usable.
Library examine(void* handle) {
  Library result;
  result.origin = file_of(handle);
  try {
    auto api = std::make_unique<Api>(symbols_of(handle));
    int runtime_version = 0;
    int driver_version = 0;
    (void)api->runtime_get_version(&runtime_version);
    (void)api->driver_get_version(&driver_version);
    result.version = version_text(runtime_version);
    result.driver = version_text(driver_version);
    const cudaError_t error = api->get_device_count(&result.devices);
    if (error != cudaSuccess || result.devices == 0) {
      (void)api->get_last_error();
      result.failure =
          reason_for(*api, error == cudaSuccess ? cudaErrorNoDevice : error, runtime_version, driver_version) +
          " (asked with " + result.origin + ")";
      return result;
    }
    // The runtime has opened the driver already; dlopen() finds it by its name.
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver == nullptr) {
      result.failure = "the NVIDIA driver cannot be opened: " + loader_message();
      return result;
    }
    api->add_driver(symbols_of(driver));
    result.api = std::move(api);
  } catch (const Error& error) {
    result.failure = result.origin + " is not usable: " + error.what();
  }
  return result;
}

/// A file that may be a libcudart, and flags for dlopen().
struct Candidate {
  std::string file;
  int flags;
};

/// In the order of preference.
std::vector<Candidate> candidates() {
  std::vector<Candidate> result;
  for (const char* name : kNames) result.push_back({name, RTLD_NOLOAD});  // the program's own
  for (const char* name : kNames) result.push_back({name, 0});
  result.push_back({std::string(TUTTI_CUDA_LIBRARY_DIR "/") + kNames[0], 0});
  return result;
}

Library open(const std::string& setting) {
  Library result;
  if (!setting.empty()) {
    void* handle = dlopen(setting.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return examine(handle);
    result.failure = "TUTTI_CUDA_LIBRARY: " + loader_message();
    return result;
  }
  std::string missing;
  std::vector<void*> examined;
  for (const auto& [file, flags] : candidates()) {
    void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
    if (handle == nullptr && missing.empty() && flags == 0) missing = loader_message();
    if (handle == nullptr || std::ranges::find(examined, handle) != examined.end()) continue;
    examined.push_back(handle);
    Library next = examine(handle);
    if (next.api != nullptr) return next;
    // A newer libcudart may need a newer driver, so the others are tried; the first failure is kept if none works.
    if (result.failure.empty()) result = std::move(next);
  }
  if (result.failure.empty()) {
    result.failure = "no libcudart was found (set TUTTI_CUDA_LIBRARY to its file): " + missing;
  }
  return result;
}

}  // namespace

const Library& open_library(const std::string& setting) {
  // Never destroyed: static objects may still hold memory of devices.
  static const auto* library = new Library(open(setting));
  return *library;
}

}  // namespace tutti::cuda_device

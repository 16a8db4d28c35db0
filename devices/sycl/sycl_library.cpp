#include "sycl_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>

#include "tutti/spi/environment.hpp"

namespace tutti::sycl_device {

namespace {

namespace fs = std::filesystem;

std::string loader_message() {
  const char* text = dlerror();
  return text != nullptr ? text : "unknown reason";
}

/// The file an opened library was loaded from.
fs::path file_of(void* handle) {
  link_map* map = nullptr;
  std::error_code error;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? fs::canonical(map->l_name, error) : fs::path();
}

/// The folder of this module, which also has the runtime part.
fs::path own_folder() {
  Dl_info info{};
  std::error_code error;
  const void* here = reinterpret_cast<const void*>(&open_library);
  return dladdr(here, &info) != 0 ? fs::canonical(info.dli_fname, error).parent_path() : fs::path();
}

/// File of an OpenCL loader in this process that did not come with the runtime; empty when there is none.
fs::path foreign_opencl(const fs::path& folder) {
  void* handle = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return {};
  const fs::path file = file_of(handle);
  dlclose(handle);
  return file.parent_path() == folder ? fs::path() : file;
}

/// File of the CPU driver that a package put beside libsycl; empty when there is none.
fs::path cpu_driver(const fs::path& folder) {
  std::error_code error;
  const fs::path driver = folder / "libintelocl.so";
  return fs::exists(driver, error) ? driver : fs::path();
}

/// Tells the runtime about the CPU driver: it finds that only if the system or OCL_ICD_FILENAMES names it, which
/// packages that bring both into one folder do not arrange. Called only before the program can use the runtime; does
/// not change variables that the user has set.
void announce_cpu_device(const fs::path& folder) {
  const fs::path driver = cpu_driver(folder);
  if (driver.empty() || spi::environment("OCL_ICD_FILENAMES") || spi::environment("OCL_ICD_VENDORS")) return;
  setenv("OCL_ICD_FILENAMES", driver.c_str(), 0);  // NOLINT(concurrency-mt-unsafe): there is no other way
  // A foreign loader is mostly ocl-icd, which reads another variable.
  if (!foreign_opencl(folder).empty()) setenv("OCL_ICD_VENDORS", driver.c_str(), 0);  // NOLINT(concurrency-mt-unsafe)
}

/// Makes the runtime ignore Level Zero if its loader is older than 1.15: with a driver, the runtime calls functions
/// that such a loader lacks, without checking. Does nothing if the user has set the variable.
void keep_off_old_level_zero() {
  if (spi::environment("ONEAPI_DEVICE_SELECTOR")) return;
  void* loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
  if (loader == nullptr || dlsym(loader, "zeDeviceGetRootDevice") != nullptr) return;
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(loader, "zeInit"));
  if (init == nullptr || init(0) != 0) return;
  setenv("ONEAPI_DEVICE_SELECTOR", "!level_zero:*", 0);  // NOLINT(concurrency-mt-unsafe)
}

/// Loads the libraries that the OpenCL loader beside libsycl needs: packages give it no path to them, and nothing else
/// loads them where the runtime's Level Zero adapter is missing. In the order in which they need each other.
void bring_compiler_libraries(const fs::path& folder) {
  for (const char* name : {"libintlc.so.5", "libimf.so", "libsvml.so", "libirng.so"}) {
    dlopen((folder / name).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
}

/// Opens a file that must be the libsycl this was built for; null with the reason in `failure` when it is not.
void* open_file(const std::string& file, std::string& failure) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    failure = loader_message();
    return nullptr;
  }
  if (void* named = dlopen(TUTTI_SYCL_SONAME, RTLD_NOW | RTLD_NOLOAD)) return named;
  failure = file + " is not " TUTTI_SYCL_SONAME;
  dlclose(handle);
  return nullptr;
}

Library open(const std::string& setting) {
  Library library;
  void* handle = dlopen(TUTTI_SYCL_SONAME, RTLD_NOW | RTLD_NOLOAD);
  const bool was_there = handle != nullptr;
  if (handle == nullptr && !setting.empty()) {
    handle = open_file(setting, library.failure);
    if (handle == nullptr) library.failure = "TUTTI_SYCL_LIBRARY: " + library.failure;
  } else if (handle == nullptr) {
    std::string ignored;
    handle = open_file(TUTTI_SYCL_SONAME, library.failure);
    if (handle == nullptr) handle = open_file(TUTTI_SYCL_LIBRARY_DIR "/" TUTTI_SYCL_SONAME, ignored);
    if (handle == nullptr) {
      library.failure = "no " TUTTI_SYCL_SONAME " was found (set TUTTI_SYCL_LIBRARY to its file): " + library.failure;
    }
  }
  if (handle == nullptr) return library;
  library.origin = file_of(handle).string();
  if (!was_there) {
    const fs::path folder = fs::path(library.origin).parent_path();
    announce_cpu_device(folder);
    keep_off_old_level_zero();
    bring_compiler_libraries(folder);
  }

  const fs::path part = own_folder() / TUTTI_SYCL_RUNTIME_FILE;
  library.runtime = dlopen(part.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.runtime == nullptr) {
    library.failure = part.string() + " cannot be loaded with " + library.origin + ": " + loader_message();
  }
  return library;
}

}  // namespace

std::string missing_device_hint(const Library& library) {
  const fs::path folder = fs::path(library.origin).parent_path();
  const fs::path driver = cpu_driver(folder);
  const fs::path other = foreign_opencl(folder);
  if (driver.empty() || other.empty()) return {};
  return "; the OpenCL loader " + other.string() +
         " was loaded before the SYCL runtime and does not know the CPU driver: start the program with " +
         "OCL_ICD_VENDORS=" + driver.string();
}

const Library& open_library(const std::string& setting) {
  static const Library library = open(setting);
  return library;
}

}  // namespace tutti::sycl_device

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

/// The folder of this module, where the part that is linked with libsycl lies too.
fs::path own_folder() {
  Dl_info info{};
  std::error_code error;
  const void* here = reinterpret_cast<const void*>(&open_library);
  return dladdr(here, &info) != 0 ? fs::canonical(info.dli_fname, error).parent_path() : fs::path();
}

/// The runtime finds the CPU device only where the system or this variable says so, and packages that bring both into
/// one folder say nothing. Only while nobody else can be using the runtime, and nothing that the user has set.
void announce_cpu_device(const fs::path& folder) {
  const fs::path driver = folder / "libintelocl.so";
  std::error_code error;
  if (spi::environment("OCL_ICD_FILENAMES") || !fs::exists(driver, error)) return;
  setenv("OCL_ICD_FILENAMES", driver.c_str(), 0);  // NOLINT(concurrency-mt-unsafe): the only way to tell it
}

Library open(const std::string& setting) {
  Library library;
  void* handle = dlopen(TUTTI_SYCL_SONAME, RTLD_NOW | RTLD_NOLOAD);
  const bool was_there = handle != nullptr;
  const std::string default_file = TUTTI_SYCL_LIBRARY_DIR "/" TUTTI_SYCL_SONAME;
  for (const std::string& file : {setting.empty() ? std::string(TUTTI_SYCL_SONAME) : setting, default_file}) {
    if (handle != nullptr) break;
    handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) break;
    library.failure = (setting.empty() ? "no " TUTTI_SYCL_SONAME " was found (TUTTI_SYCL_LIBRARY names one elsewhere): "
                                       : "TUTTI_SYCL_LIBRARY: ") +
                      loader_message();
    if (!setting.empty()) break;
  }
  if (handle == nullptr) return library;
  library.origin = file_of(handle).string();
  if (!was_there) announce_cpu_device(fs::path(library.origin).parent_path());

  const fs::path part = own_folder() / TUTTI_SYCL_RUNTIME_FILE;
  library.runtime = dlopen(part.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.runtime == nullptr) {
    library.failure =
        "the part of tutti that needs libsycl does not load with " + library.origin + ": " + loader_message();
  }
  return library;
}

}  // namespace

const Library& open_library(const std::string& setting) {
  static const Library library = open(setting);
  return library;
}

}  // namespace tutti::sycl_device

#include "nccl_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

namespace tutti::nccl {
namespace {

constexpr const char* kLibraryName = "libnccl.so.2";

/// File of an open library.
std::string file_of(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) return kLibraryName;
  return map->l_name;
}

/// Whether the library is tutti's own adapter, which has NCCL's interface and stands on this backend.
bool is_adapter(void* handle) { return dlsym(handle, "tuttiNcclAdapter") != nullptr; }

/// Accepts the library if it is an NCCL that is new enough, else describes it in `failure`.
void accept(Library& library, void* handle) {
  library.file = file_of(handle);
  const auto get_version = reinterpret_cast<int (*)(int*)>(dlsym(handle, "ncclGetVersion"));
  if (get_version == nullptr || get_version(&library.number) != 0) {
    library.failure = library.file + " is not an NCCL library: ncclGetVersion is missing or failed";
    return;
  }
  library.version = "NCCL " + version_text(library.number);
  // The fake of the tests exports a note about itself.
  if (const auto* note = static_cast<const char*>(dlsym(handle, "tutti_fake_nccl"))) {
    library.version += " (" + std::string(note) + ")";
  }
  if (library.number < kOldestVersion) {
    library.failure = library.file + " is " + library.version + "; " + version_text(kOldestVersion) +
                      " or newer is needed (for non-blocking communicators)";
    return;
  }
  library.handle = handle;
}

}  // namespace

std::string version_text(int number) {
  const int unit = number < 10000 ? 1000 : 10000;
  return std::to_string(number / unit) + "." + std::to_string(number % unit / 100) + "." + std::to_string(number % 100);
}

Library open_library(const std::string& setting, const std::vector<std::string>& folders) {
  Library library;
  // RTLD_LOCAL: the symbols must stay invisible to a program that may bring its own NCCL.
  int mode = RTLD_NOW | RTLD_LOCAL;
  if (void* handle = dlopen(kLibraryName, RTLD_NOW | RTLD_NOLOAD)) {
    if (!is_adapter(handle)) {
      accept(library, handle);
      return library;
    }
    mode |= RTLD_DEEPBIND;  // NCCL must not call the adapter, whose functions have the same names
  }
  std::vector<std::string> files = {setting};
  if (setting.empty()) {
    files = {kLibraryName};
    for (const std::string& folder : folders) files.push_back((std::filesystem::path(folder) / kLibraryName).string());
  }
  std::string failures;
  for (const std::string& file : files) {
    dlerror();
    void* const handle = dlopen(file.c_str(), mode);
    if (handle != nullptr && is_adapter(handle)) {
      failures += (failures.empty() ? "" : "; ") + file_of(handle) + " is tutti's adapter, not NCCL";
      dlclose(handle);
      continue;
    }
    if (handle != nullptr) {
      accept(library, handle);
      if (!setting.empty() && library.handle == nullptr) library.failure = "TUTTI_NCCL_LIBRARY: " + library.failure;
      return library;
    }
    const char* const message = dlerror();
    failures += (failures.empty() ? "" : "; ") + (message != nullptr ? message : "cannot open " + file);
  }
  library.failure = setting.empty() ? "no " + std::string(kLibraryName) +
                                          " was found; set TUTTI_NCCL_LIBRARY to the file of the library: " + failures
                                    : "TUTTI_NCCL_LIBRARY: " + failures;
  return library;
}

}  // namespace tutti::nccl

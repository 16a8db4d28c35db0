#include "cupti_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

namespace tutti::profiling::cuda {

namespace {

constexpr int kMajor = CUPTI_API_VERSION / 10000;

struct Folder {
  char path[4096] = "";
};

/// Folder of the loaded CUDA runtime: the wheels have both libraries in one.
Folder runtime_folder() noexcept {
  Folder folder;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        const char* slash = object->dlpi_name == nullptr ? nullptr : std::strrchr(object->dlpi_name, '/');
        if (slash == nullptr || std::strncmp(slash, "/libcudart.so", 13) != 0) return 0;
        auto& to = *static_cast<Folder*>(data);
        std::snprintf(to.path, sizeof to.path, "%.*s", static_cast<int>(slash - object->dlpi_name), object->dlpi_name);
        return 1;
      },
      &folder);
  return folder;
}

void* open_any() noexcept {
  char name[32];
  std::snprintf(name, sizeof name, "libcupti.so.%d", kMajor);
  for (const char* soname : {static_cast<const char*>(name), "libcupti.so.12"}) {
    if (void* library = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD)) return library;
  }
  if (void* library = dlopen(name, RTLD_LAZY)) return library;
  const Folder beside_runtime = runtime_folder();
  for (const char* folder :
       {static_cast<const char*>(beside_runtime.path), "/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64"}) {
    if (*folder == '\0') continue;
    char path[sizeof beside_runtime.path + sizeof name + 1];
    std::snprintf(path, sizeof path, "%s/%s", folder, name);
    if (void* library = dlopen(path, RTLD_LAZY)) return library;
  }
  (void)dlerror();
  return nullptr;
}

}  // namespace

CuptiLibrary open_cupti() noexcept {
  CuptiLibrary cupti;
  void* library = open_any();
  if (library == nullptr) return cupti;
  const auto find = [&]<typename Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
  };
  find(cupti.get_version, "cuptiGetVersion");
  find(cupti.subscribe, "cuptiSubscribe");
  find(cupti.enable_domain, "cuptiEnableDomain");
  find(cupti.register_callbacks, "cuptiActivityRegisterCallbacks");
  find(cupti.register_clock, "cuptiActivityRegisterTimestampCallback");
  find(cupti.enable, "cuptiActivityEnable");
  find(cupti.get_next_record, "cuptiActivityGetNextRecord");
  find(cupti.get_dropped, "cuptiActivityGetNumDroppedRecords");
  find(cupti.flush_all, "cuptiActivityFlushAll");
  find(cupti.flush_period, "cuptiActivityFlushPeriod");
  std::uint32_t version = 0;
  if (cupti.get_version != nullptr && cupti.get_version(&version) == CUPTI_SUCCESS)
    cupti.has_known_records = version / 10000 == kMajor;
  return cupti;
}

}  // namespace tutti::profiling::cuda

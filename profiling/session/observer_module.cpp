#include "session/observer_module.hpp"

#include <dlfcn.h>
#include <limits.h>

#include <cstdio>
#include <cstring>

#include "session/recorder.hpp"

namespace tutti::profiling {

void attach_observer() noexcept {
  if (dlopen(TUTTI_SONAME, RTLD_LAZY | RTLD_NOLOAD) == nullptr) return;
  Dl_info own = {};
  if (dladdr(reinterpret_cast<const void*>(&now_ns), &own) == 0 || own.dli_fname == nullptr) return;
  const char* slash = std::strrchr(own.dli_fname, '/');
  const int folder = slash == nullptr ? 0 : static_cast<int>(slash - own.dli_fname) + 1;
  char path[PATH_MAX];
  const int length = std::snprintf(path, sizeof path, "%.*s%s", folder, own.dli_fname, kObserverFile);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) return;
  void* module = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (module == nullptr) return;
  if (void* attach = dlsym(module, kObserverAttach)) reinterpret_cast<void (*)()>(attach)();
}

}  // namespace tutti::profiling

#include "session/observer_module.hpp"

#include <dlfcn.h>

#include "tutti/spi/observer_module.hpp"

namespace tutti::profiling {

void attach_observer() noexcept {
  void* core = dlopen(TUTTI_SONAME, RTLD_LAZY | RTLD_NOLOAD);
  if (core == nullptr) return;
  void* start = dlsym(core, spi::kStartObserverSymbol);
  if (start != nullptr) static_cast<void>(reinterpret_cast<int (*)(const char*)>(start)("profile"));
  dlclose(core);
}

}  // namespace tutti::profiling

#include "runtime_functions.hpp"

#include <dlfcn.h>

#include <cerrno>

#include "local_symbols.hpp"

namespace tutti::profiling {

namespace {

struct Entry {
  const char* name;
  void** address;
};

template <typename Function>
Entry entry(const char* name, Function& function) noexcept {
  return {name, reinterpret_cast<void**>(&function)};
}

RuntimeFunctions look_up() noexcept {
  const int saved_errno = errno;
  RuntimeFunctions functions;
  const Entry entries[] = {
      entry("urDeviceGetInfo", functions.device_get_info),
      entry("urEventGetInfo", functions.event_get_info),
      entry("urEventGetProfilingInfo", functions.event_get_profiling_info),
      entry("urDeviceGetGlobalTimestamps", functions.device_get_global_timestamps),
      entry("urEventRetain", functions.event_retain),
      entry("urEventRelease", functions.event_release),
  };
  // Until 2025, SYCL used a loader of its own file. Its handle stays open: the source's last calls come late.
  if (void* loader = dlopen("libur_loader.so.0", RTLD_LAZY | RTLD_NOLOAD)) {
    for (const Entry& each : entries) *each.address = dlsym(loader, each.name);
  } else {
    (void)dlerror();
    const LocalSymbols symbols("libsycl");
    for (const Entry& each : entries) *each.address = symbols.find(each.name);
  }
  errno = saved_errno;
  return functions;
}

}  // namespace

bool RuntimeFunctions::tell_times() const noexcept {
  return event_get_info != nullptr && event_get_profiling_info != nullptr && event_retain != nullptr &&
         event_release != nullptr;
}

const RuntimeFunctions& runtime_functions() noexcept {
  static const RuntimeFunctions functions = look_up();
  return functions;
}

}  // namespace tutti::profiling

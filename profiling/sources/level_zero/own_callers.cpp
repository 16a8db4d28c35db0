#include "own_callers.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

#include <atomic>
#include <cstring>

#include "base/interpose/own_caller.hpp"

namespace tutti::profiling::ze {

namespace {

constinit std::atomic<bool> tutti_is_loaded = false;

bool has_base(const char* file, const char* prefix) noexcept {
  const char* slash = std::strrchr(file, '/');
  return std::strncmp(slash == nullptr ? file : slash + 1, prefix, std::strlen(prefix)) == 0;
}

/// Finds the first frame that is neither of the loader nor of this library.
_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
  auto* code = reinterpret_cast<void*>(_Unwind_GetIP(context));
  Dl_info where{};
  if (code == nullptr || dladdr(code, &where) == 0 || where.dli_fname == nullptr) return _URC_END_OF_STACK;
  if (has_base(where.dli_fname, "libze_") || has_base(where.dli_fname, "libtutti_source_")) return _URC_NO_REASON;
  *static_cast<bool*>(data) = interpose::is_own_library(where.dli_fname);
  return _URC_END_OF_STACK;
}

}  // namespace

void look_for_own_callers() noexcept {
  if (tutti_is_loaded) return;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void*) {
        if (object->dlpi_name != nullptr && has_base(object->dlpi_name, "libtutti_device_level_zero"))
          tutti_is_loaded = true;
        return tutti_is_loaded ? 1 : 0;
      },
      nullptr);
}

bool is_called_by_tutti() noexcept {
  // Relaxed: set before the first call that matters, by the same thread.
  if (!tutti_is_loaded.load(std::memory_order_relaxed)) return false;
  bool is_own = false;
  _Unwind_Backtrace(&visit, &is_own);
  return is_own;
}

}  // namespace tutti::profiling::ze

// A subscriber of the XPTI framework: it loads this library when XPTI_SUBSCRIBERS names it, and calls the two exported
// functions for each stream of events that a library offers.
#include <dlfcn.h>

#include <cerrno>
#include <new>
#include <string_view>

#include "call_recorder.hpp"
#include "runtime_functions.hpp"

namespace tutti::profiling {

namespace {

CallRecorder* recorder = nullptr;

void on_begin(std::uint16_t, void*, void*, std::uint64_t instance, const void* data) noexcept {
  if (data == nullptr || OwnCall::is_active()) return;
  const int saved_errno = errno;
  recorder->begin(*static_cast<const xpti::FunctionWithArguments*>(data), instance);
  errno = saved_errno;
}

void on_end(std::uint16_t, void*, void*, std::uint64_t instance, const void* data) noexcept {
  if (data == nullptr || OwnCall::is_active()) return;
  const int saved_errno = errno;
  recorder->end(*static_cast<const xpti::FunctionWithArguments*>(data), instance);
  errno = saved_errno;
}

/// The framework's function of this name. `caller`: code of the framework, which no scope needs to contain.
template <typename Function>
Function framework_function(const void* caller, const char* name) noexcept {
  Dl_info where{};
  if (dladdr(caller, &where) == 0) return nullptr;
  void* framework = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (framework == nullptr) return nullptr;
  auto function = reinterpret_cast<Function>(dlsym(framework, name));
  dlclose(framework);
  return function;
}

void subscribe(const void* framework, const char* stream, unsigned version) noexcept {
  const auto register_stream = framework_function<xpti::RegisterStream>(framework, "xptiRegisterStream");
  const auto register_callback = framework_function<xpti::RegisterCallback>(framework, "xptiRegisterCallback");
  if (register_stream == nullptr || register_callback == nullptr) return;
  recorder = new (std::nothrow) CallRecorder(version, device_times_forced());
  if (recorder == nullptr) return;
  const std::uint8_t id = register_stream(stream);
  register_callback(id, xpti::kFunctionWithArgumentsBegin, &on_begin);
  register_callback(id, xpti::kFunctionWithArgumentsEnd, &on_end);
}

}  // namespace

}  // namespace tutti::profiling

extern "C" {

/// The framework calls this when a library offers a stream, from one thread at a time.
__attribute__((visibility("default"))) void xptiTraceInit(unsigned, unsigned minor, const char*, const char* stream) {
  using namespace tutti::profiling;
  const std::string_view name = stream == nullptr ? "" : stream;
  // Older versions of the Unified Runtime call their stream "ur".
  if (recorder != nullptr || (name != "ur.call" && name != "ur")) return;
  if (!source_wanted("sycl") || tracing_mode() == TracingMode::minimal) return;
  subscribe(__builtin_return_address(0), stream, minor);
}

/// Nothing is left to do: records are in the session when their call has returned.
__attribute__((visibility("default"))) void xptiTraceFinish(const char*) {}
}

#include "tracer.hpp"

#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "call_recorder.hpp"

namespace tutti::profiling::ze {

namespace {

CallRecorder* recorder = nullptr;

/// All functions' callbacks differ in the type of the first argument only: a structure of addresses of arguments.
using Callback = void (*)(void** arguments, ze_result_t result, void* user, void** state);
using Register = ze_result_t (*)(zel_tracer_handle_t, zel_tracer_reg_t, Callback);

template <std::size_t kNumber>
void prologue(void** arguments, ze_result_t, void*, void** state) noexcept {
  if (OwnCall::is_active()) return;
  const int saved_errno = errno;
  recorder->begin(kNumber, arguments, *state);
  errno = saved_errno;
}

template <std::size_t kNumber>
void epilogue(void** arguments, ze_result_t result, void*, void** state) noexcept {
  if (OwnCall::is_active()) return;
  const int saved_errno = errno;
  recorder->end(kNumber, arguments, result, *state);
  errno = saved_errno;
}

struct Callbacks {
  Callback prologue;
  Callback epilogue;
};
template <std::size_t... kNumbers>
constexpr auto make_callbacks(std::index_sequence<kNumbers...>) {
  return std::array{Callbacks{&prologue<kNumbers>, &epilogue<kNumbers>}...};
}
constexpr auto kCallbacks = make_callbacks(std::make_index_sequence<kFunctions.size()>{});

/// Registers the callbacks of all functions that this loader can trace; older ones know fewer. Returns their number.
std::size_t register_callbacks(const Loader& loader, zel_tracer_handle_t tracer) {
  std::size_t registered = 0;
  for (std::size_t i = 0; i < kFunctions.size(); ++i) {
    const std::string name = "zelTracer" + std::string(kFunctions[i].name.substr(2)) + "RegisterCallback";
    const auto add = reinterpret_cast<Register>(loader.find(name.c_str()));
    if (add == nullptr) continue;
    if (add(tracer, ZEL_REGISTER_PROLOGUE, kCallbacks[i].prologue) == ZE_RESULT_SUCCESS &&
        add(tracer, ZEL_REGISTER_EPILOGUE, kCallbacks[i].epilogue) == ZE_RESULT_SUCCESS)
      ++registered;
  }
  return registered;
}

void start(const void* init) {
  const Loader loader = open_loader(init);
  const auto create = reinterpret_cast<decltype(&zelTracerCreate)>(loader.find("zelTracerCreate"));
  const auto enable = reinterpret_cast<decltype(&zelTracerSetEnabled)>(loader.find("zelTracerSetEnabled"));
  if (!loader.is_complete() || create == nullptr || enable == nullptr) {
    add_problem("calls of Level Zero are not recorded: its loader has no tracing; install the loader 1.8 or later");
    return;
  }
  const zel_tracer_desc_t description = {ZEL_STRUCTURE_TYPE_TRACER_EXP_DESC, nullptr, nullptr};
  zel_tracer_handle_t tracer = nullptr;
  if (create(&description, &tracer) != ZE_RESULT_SUCCESS) {
    add_problem(
        "calls of Level Zero are not recorded: its tracing layer is not active; set ZE_ENABLE_TRACING_LAYER=1 before "
        "the "
        "program starts");
    return;
  }
  recorder = new (std::nothrow) CallRecorder(loader);
  if (recorder == nullptr || register_callbacks(loader, tracer) == 0) return;
  enable(tracer, true);
  // Runs before the driver's and the loader's own: those were registered by the time that zeInit returned.
  std::atexit([] { recorder->finish(); });
}

}  // namespace

void start_tracer(const void* init) noexcept {
  static std::once_flag once;
  const int saved_errno = errno;
  try {
    std::call_once(once, [&] {
      if (source_wanted("ze") && tracing_mode() != TracingMode::minimal) start(init);
    });
  } catch (const std::exception&) {
    // No memory for the names: the program goes on without the source.
  }
  errno = saved_errno;
}

}  // namespace tutti::profiling::ze

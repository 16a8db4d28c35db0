// A second subscriber of XPTI, as a user may have one: counts the calls of the Unified Runtime by name and result, and
// writes "name|result|count" lines to the file TUTTI_TEST_COUNTS at the end.
#include <xpti/xpti_trace_framework.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace {

struct Counts {
  std::mutex mutex;
  std::map<std::pair<std::string, int>, long> calls;
};
Counts& counts() {
  static auto* instance = new Counts;
  return *instance;
}

void write_counts() {
  const std::scoped_lock lock(counts().mutex);
  const char* file = std::getenv("TUTTI_TEST_COUNTS");  // NOLINT: a test's program
  if (file == nullptr) return;
  std::ofstream out(file);
  for (const auto& [call, count] : counts().calls) out << call.first << '|' << call.second << '|' << count << '\n';
}

void on_end(std::uint16_t, xpti::trace_event_data_t*, xpti::trace_event_data_t*, std::uint64_t, const void* data) {
  const auto* call = static_cast<const xpti::function_with_args_t*>(data);
  const std::scoped_lock lock(counts().mutex);
  ++counts().calls[{call->function_name, *static_cast<const int*>(call->ret_data)}];
}

}  // namespace

XPTI_CALLBACK_API void xptiTraceInit(unsigned int, unsigned int, const char*, const char* stream) {
  if (std::string_view(stream) != "ur.call") return;
  const auto id = xptiRegisterStream(stream);
  xptiRegisterCallback(id, static_cast<std::uint16_t>(xpti::trace_point_type_t::function_with_args_end), &on_end);
}

XPTI_CALLBACK_API void xptiTraceFinish(const char* stream) {
  if (std::string_view(stream) == "ur.call") write_counts();
}

#include "check/call_site.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <unwind.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "tutti/spi/printable.hpp"

namespace tutti {
namespace {

/// Frames of tutti's own between a call and the place of an error; a stack that is deeper than this is no such stack.
constexpr int kMostFrames = 64;
constexpr std::size_t kLongestName = 120;

struct Walk {
  const void* own_module = nullptr;
  int frames = 0;
  std::uintptr_t address = 0;
  Dl_info place = {};
};

std::string_view file_name(const char* path) {
  const std::string_view whole = path == nullptr ? "" : path;
  return whole.substr(whole.find_last_of('/') + 1);
}

_Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  if (++walk.frames > kMostFrames) return _URC_END_OF_STACK;
  int is_exact = 0;
  std::uintptr_t address = _Unwind_GetIPInfo(context, &is_exact);
  if (address == 0) return _URC_END_OF_STACK;
  // A return address may belong to the next line, or the next function.
  if (is_exact == 0) --address;
  Dl_info place = {};
  if (dladdr(reinterpret_cast<const void*>(address), &place) == 0) return _URC_NO_REASON;
  if (place.dli_fbase == walk.own_module || file_name(place.dli_fname).starts_with("libtutti")) return _URC_NO_REASON;
  walk.address = address;
  walk.place = place;
  return _URC_END_OF_STACK;
}

std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text != nullptr ? text.get() : symbol;
}

}  // namespace

std::string call_site() {
  Walk walk;
  Dl_info own = {};
  if (dladdr(reinterpret_cast<const void*>(&call_site), &own) != 0) walk.own_module = own.dli_fbase;
  (void)_Unwind_Backtrace(&visit, &walk);
  if (walk.address == 0) return {};
  std::array<char, 24> offset{};
  std::snprintf(offset.data(), offset.size(), "+0x%llx",
                static_cast<unsigned long long>(walk.address - reinterpret_cast<std::uintptr_t>(walk.place.dli_fbase)));
  std::string text = spi::printable(file_name(walk.place.dli_fname), kLongestName) + offset.data();
  if (walk.place.dli_sname != nullptr) {
    text += " (" + spi::printable(demangled(walk.place.dli_sname), kLongestName) + ")";
  }
  return text;
}

}  // namespace tutti

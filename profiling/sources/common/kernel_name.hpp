#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "session/recorder.hpp"

namespace tutti::profiling {

/// Number of a kernel's name as its programmer wrote it. SYCL names kernels after types.
[[nodiscard]] inline NameId kernel_name(const char* symbol) noexcept {
  if (symbol == nullptr || symbol[0] == '\0') return intern("(kernel without a name)");
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                         &std::free);
  if (status != 0 || text == nullptr) return intern(symbol);
  constexpr std::string_view kPrefix = "typeinfo name for ";
  std::string_view name = text.get();
  if (name.substr(0, kPrefix.size()) == kPrefix) name.remove_prefix(kPrefix.size());
  return intern(name);
}

}  // namespace tutti::profiling

#include "sinks/kernel_name.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace tutti::profiling {
namespace {

/// The demangled name, or an empty text if the name is not a mangled one.
std::string demangled(const std::string& name) {
  // Without this test the names of C functions that are also mangled types, "i", would turn into "int".
  if (!name.starts_with("_Z")) return {};
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  if (status != 0 || text == nullptr) return {};
  // SYCL compilers name a kernel after a type, by the symbol of the type's name.
  std::string_view view = text.get();
  constexpr std::string_view kOfType = "typeinfo name for ";
  if (view.starts_with(kOfType)) view.remove_prefix(kOfType.size());
  return std::string(view);
}

}  // namespace

std::string kernel_name(const std::string& name) {
  // OpenMP: __omp_offloading_<device>_<file>_<function>_<line>, where device, file and line hold no underscore.
  constexpr std::string_view kOffloading = "__omp_offloading_";
  if (name.starts_with(kOffloading)) {
    const std::size_t file = name.find('_', kOffloading.size());
    const std::size_t function = file == std::string::npos ? file : name.find('_', file + 1);
    const std::size_t line = name.rfind('_');
    if (function == std::string::npos || line <= function) return name;
    const std::string text = demangled(name.substr(function + 1, line - function - 1));
    return text.empty() ? name : text + name.substr(line);
  }
  std::string text = demangled(name);
  return text.empty() ? name : text;
}

}  // namespace tutti::profiling

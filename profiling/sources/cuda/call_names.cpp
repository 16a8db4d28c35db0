#include "call_names.hpp"

#include <algorithm>

namespace tutti::profiling::cuda {

std::string_view without_version(std::string_view function) noexcept {
  const std::size_t at = function.rfind("_v");
  // Versions of the driver's own symbols ("cuMemAlloc_v2") have one digit.
  if (at == std::string_view::npos || function.size() - at < 6) return function;
  const std::string_view digits = function.substr(at + 2);
  const bool is_version = std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_version ? function.substr(0, at) : function;
}

bool is_query(std::string_view function) noexcept {
  for (const std::string_view part :
       {"EventQuery", "StreamQuery", "GetLastError", "PeekAtLastError", "GetAttribute", "GetProperties",
        "cudaGetDevice", "cuCtxGetCurrent", "cuCtxGetDevice", "GetProcAddress", "StreamIsCapturing"}) {
    if (function.find(part) != std::string_view::npos) return true;
  }
  return false;
}

CallName CallNames::get(CUpti_CallbackDomain domain, CUpti_CallbackId number, const char* function) noexcept {
  const std::size_t row = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? 1 : 0;
  std::atomic<std::uint32_t>* slot = number < kFunctions ? &names_[row][number] : nullptr;
  // Relaxed: the value is complete in itself.
  if (slot != nullptr) {
    if (const std::uint32_t known = slot->load(std::memory_order_relaxed); known != 0)
      return {known & ~kQueryBit, (known & kQueryBit) != 0};
  }
  const std::string_view name = without_version(function == nullptr ? "(function without a name)" : function);
  const CallName made{intern(name), is_query(name)};
  if (slot != nullptr) slot->store(made.name | (made.is_query ? kQueryBit : 0), std::memory_order_relaxed);
  return made;
}

}  // namespace tutti::profiling::cuda

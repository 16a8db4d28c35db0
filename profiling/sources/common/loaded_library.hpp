#pragma once

#include <link.h>

#include <cstring>

namespace tutti::profiling {

/// Whether a library with this file name is in the process.
[[nodiscard]] inline bool is_library_loaded(const char* file) noexcept {
  const auto has_name = [](dl_phdr_info* object, std::size_t, void* wanted) {
    const char* slash = object->dlpi_name == nullptr ? nullptr : std::strrchr(object->dlpi_name, '/');
    return slash != nullptr && std::strcmp(slash + 1, static_cast<const char*>(wanted)) == 0 ? 1 : 0;
  };
  return dl_iterate_phdr(has_name, const_cast<char*>(file)) != 0;
}

}  // namespace tutti::profiling

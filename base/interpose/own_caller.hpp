#pragma once

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <string_view>

namespace tutti::interpose {

/// Whether a file is a library of tutti: libtutti.so, a module, a bridge, a source.
[[nodiscard]] inline bool is_own_library(const char* file) noexcept {
  if (file == nullptr) return false;
  const char* slash = std::strrchr(file, '/');
  const char* base = slash == nullptr ? file : slash + 1;
  constexpr std::string_view kPrefix = "libtutti";
  if (std::strncmp(base, kPrefix.data(), kPrefix.size()) != 0) return false;
  // "libtutti.so.0.1", "libtutti_backend_mpi.intel.so", but not "libtuttifrutti.so".
  return base[kPrefix.size()] == '.' || base[kPrefix.size()] == '_' || base[kPrefix.size()] == '-';
}

/// Whether code at this address belongs to a library of tutti: calls that tutti makes are in the records of its own
/// observer. Knows objects that were loaded a moment ago. No lock with glibc 2.35 and later.
[[nodiscard]] inline bool is_own_caller(const void* return_address) noexcept {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
  // The loader's own table for unwinding: lock-free and always current, which a copy of ranges would not be.
  dl_find_object object{};
  if (_dl_find_object(const_cast<void*>(return_address), &object) != 0) return false;
  return object.dlfo_link_map != nullptr && is_own_library(object.dlfo_link_map->l_name);
#else
  Dl_info info{};
  return dladdr(return_address, &info) != 0 && is_own_library(info.dli_fname);
#endif
}

}  // namespace tutti::interpose

/// Whether tutti called the function in which this is written.
#define TUTTI_CALLED_BY_TUTTI() ::tutti::interpose::is_own_caller(__builtin_return_address(0))

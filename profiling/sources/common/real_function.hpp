#pragma once

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cerrno>

/// Included by a source, so that RTLD_NEXT means "after this source".
namespace tutti::profiling {

namespace detail {

/// Search for a definition outside of the object that contains `own`.
struct DefinitionSearch {
  const char* name;
  const void* own_base;
  void* found = nullptr;

  /// A definition in an object or its dependencies; null if there is none or it is the source's own.
  void* in(const char* object) const noexcept {
    // Not loaded for the search, and not kept by it.
    void* handle = dlopen(object, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return nullptr;
    void* definition = dlsym(handle, name);
    dlclose(handle);
    Dl_info where{};
    const bool is_own = definition != nullptr && dladdr(definition, &where) != 0 && where.dli_fbase == own_base;
    return is_own ? nullptr : definition;
  }
};

/// The definition that the caller would use without this source, by its name.
inline void* find_definition(const char* name, const void* own, const void* caller) noexcept {
  const int saved_errno = errno;
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    // A library that a plug-in or an interpreter opened with local scope is not in the scope of RTLD_NEXT.
    Dl_info self{};
    (void)dladdr(own, &self);
    DefinitionSearch search{name, self.dli_fbase};
    Dl_info from{};
    if (caller != nullptr && dladdr(caller, &from) != 0 && from.dli_fbase != self.dli_fbase)
      search.found = search.in(from.dli_fname);
    if (search.found == nullptr) {
      dl_iterate_phdr(
          [](dl_phdr_info* object, std::size_t, void* data) {
            auto& one = *static_cast<DefinitionSearch*>(data);
            if (object->dlpi_name != nullptr && object->dlpi_name[0] != '\0') one.found = one.in(object->dlpi_name);
            return one.found != nullptr ? 1 : 0;
          },
          &search);
    }
    found = search.found;
    (void)dlerror();
  }
  errno = saved_errno;
  return found;
}

}  // namespace detail

/// The function that a source stands in front of: the next definition of a symbol. Looked up at the first call, then
/// one load. A constant-initialised static object; thread-safe.
template <typename Function>
class RealFunction {
 public:
  constexpr explicit RealFunction(const char* name) noexcept : name_(name) {}

  /// Null if no loaded object but this one defines the symbol, and for a call that the lookup itself makes (it may
  /// allocate, for example). `caller`: an address in the calling object, whose libraries are preferred where the
  /// symbol is not of global scope.
  [[nodiscard]] Function get(const void* caller = nullptr) noexcept {
    // Relaxed: the value is an address of code that was mapped before anybody could look it up.
    if (void* known = found_.load(std::memory_order_relaxed)) [[likely]]
      return reinterpret_cast<Function>(known);
    return look_up(caller);
  }

 private:
  [[gnu::noinline]] Function look_up(const void* caller) noexcept {
    static thread_local bool is_looking = false;
    if (is_looking) return nullptr;
    is_looking = true;
    void* found = detail::find_definition(name_, this, caller);
    is_looking = false;
    // A failure is not kept: the library may be opened later.
    if (found != nullptr) found_.store(found, std::memory_order_relaxed);
    return reinterpret_cast<Function>(found);
  }

  const char* name_;
  std::atomic<void*> found_ = nullptr;
};

}  // namespace tutti::profiling

#pragma once

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>

/// For libraries that stand in front of functions of others. Header-only, so that RTLD_NEXT means "after the library
/// that includes it".
namespace tutti::interpose {

namespace detail {

/// Search for a definition outside of the object that contains `own`.
struct DefinitionSearch {
  const char* name;
  const void* own_base;
  void* found = nullptr;

  /// A definition in an object or its dependencies; null if there is none or it is the searching library's own.
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

/// The name of the object at a place in the loader's list, copied out of the iteration: its lock must not be held while
/// an object is opened, since a thread that opens one takes the two locks in the opposite order.
struct ObjectName {
  std::size_t place;
  std::size_t seen = 0;
  bool exists = false;
  std::array<char, PATH_MAX> text{};

  explicit ObjectName(std::size_t wanted) noexcept : place(wanted) {
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* data) {
          auto& one = *static_cast<ObjectName*>(data);
          if (one.seen++ != one.place) return 0;
          one.exists = true;
          if (object->dlpi_name != nullptr && std::strlen(object->dlpi_name) < one.text.size())
            std::strcpy(one.text.data(), object->dlpi_name);
          return 1;
        },
        this);
  }
};

/// The definition that the caller would use without the library that `own` is in, by its name.
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
    for (std::size_t place = 0; search.found == nullptr; ++place) {
      const ObjectName object(place);
      if (!object.exists) break;
      if (object.text[0] != '\0') search.found = search.in(object.text.data());
    }
    found = search.found;
    (void)dlerror();
  }
  errno = saved_errno;
  return found;
}

}  // namespace detail

/// The function that a library stands in front of: the next definition of a symbol. Looked up at the first call, then
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

}  // namespace tutti::interpose

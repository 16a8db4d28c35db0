#include "sources/memory/owners.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string_view>

#include "session/recorder.hpp"
#include "base/interpose/own_caller.hpp"

namespace tutti::profiling::memory {

using interpose::is_own_library;
namespace {

/// A loaded object: its address range's begin, and its file.
struct Object {
  std::uintptr_t begin = 0;
  const char* file = nullptr;  ///< null: none is known; empty: the program
};

Object object_of(const void* code) noexcept {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
  // The loader's own table: without a lock, and current also after dlopen() and dlclose().
  dl_find_object found{};
  if (_dl_find_object(const_cast<void*>(code), &found) != 0 || found.dlfo_link_map == nullptr) return {};
  return {reinterpret_cast<std::uintptr_t>(found.dlfo_map_start), found.dlfo_link_map->l_name};
#else
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(code, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) return {};
  return {reinterpret_cast<std::uintptr_t>(info.dli_fbase), map->l_name};
#endif
}

std::string_view name_of(const Object& object) noexcept {
  if (object.file == nullptr) return "generated code";
  if (*object.file == '\0') return "application";
  if (is_own_library(object.file)) return "tutti";
  const char* slash = std::strrchr(object.file, '/');
  const std::string_view file = slash == nullptr ? object.file : slash + 1;
  return file.substr(0, file.find(".so"));
}

/// Names by object, so that the hot path copies no text. A slot never changes once it has an owner.
struct Slot {
  std::atomic<std::uint64_t> key{0};
  std::atomic<std::uint32_t> owner{0};
};
constinit std::array<Slot, 1024> slots;

}  // namespace

std::uint32_t owner_of(const void* code) noexcept {
  const Object object = object_of(code);
  // Both can be those of an object that was closed, but hardly at once.
  const std::uint64_t key =
      (object.begin * 0x9E3779B97F4A7C15U ^ reinterpret_cast<std::uintptr_t>(object.file)) | std::uint64_t{1};
  for (std::size_t i = 0; i < 8; ++i) {
    Slot& slot = slots[((key >> 40) + i) % slots.size()];
    std::uint64_t known = slot.key.load(std::memory_order_relaxed);
    if (known == 0 && slot.key.compare_exchange_strong(known, key, std::memory_order_relaxed)) known = key;
    if (known != key) continue;
    // Relaxed: the number alone matters; 0 as long as nobody has stored it.
    std::uint32_t owner = slot.owner.load(std::memory_order_relaxed);
    if (owner == 0) {
      owner = intern(name_of(object));
      slot.owner.store(owner, std::memory_order_relaxed);
    }
    return owner;
  }
  return intern(name_of(object));
}

}  // namespace tutti::profiling::memory

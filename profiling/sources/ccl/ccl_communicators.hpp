#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/interpose/real_function.hpp"
#include "sources/ccl/ccl_library.hpp"

/// Communicators of oneCCL's C++ interface and the store by which their ranks meet. All parameters are addresses of
/// oneCCL's objects.
namespace tutti::profiling::ccl_objects {

using Word = std::uintptr_t;
using Entry = LibraryCommunicators::Entry;

inline constinit interpose::RealFunction<int (*)(const void*)> rank_of("_ZNK3ccl2v112communicator4rankEv");
inline constinit interpose::RealFunction<int (*)(const void*)> size_of("_ZNK3ccl2v112communicator4sizeEv");
inline constinit interpose::RealFunction<void (*)(void*, const void*)> address_of_kvs("_ZNK3ccl2v13kvs11get_addressEv");

/// The first word of an object: the address of what is behind it.
[[nodiscard]] inline const void* inside(Word object) noexcept {
  return object == 0 ? nullptr : *reinterpret_cast<const void* const*>(object);
}

/// Bytes of ccl::kvs::address_type.
using KvsAddress = std::array<char, 256>;

/// The stores that the program has made, by object: a key that all ranks derive alike from the store's address, and the
/// number of communicators that were made with it.
class Stores {
 public:
  /// After create_main_kvs and create_kvs; `pointer`: their result.
  void note_main(Word pointer) noexcept {
    const void* kvs = inside(pointer);
    const auto get = address_of_kvs.get();
    if (kvs == nullptr || get == nullptr) return;
    KvsAddress address{};
    get(address.data(), kvs);
    note(kvs, address);
  }
  void note(Word pointer, Word address) noexcept {
    if (inside(pointer) != nullptr) note(inside(pointer), *reinterpret_cast<const KvsAddress*>(address));
  }
  /// Key of the next communicator made with a store; 0 for a store of the program's own class.
  [[nodiscard]] std::uint64_t next_key(Word pointer) noexcept {
    const std::scoped_lock lock(mutex_);
    const auto found = stores_.find(inside(pointer));
    if (found == stores_.end()) return 0;
    return mixed_key(found->second.key, found->second.communicators++);
  }

 private:
  struct Store {
    std::uint64_t key = 0;
    std::uint64_t communicators = 0;
  };
  void note(const void* kvs, const KvsAddress& address) noexcept {
    try {
      const std::scoped_lock lock(mutex_);
      stores_[kvs] = {.key = bytes_key(address.data(), address.size())};
    } catch (...) {
      // Without memory its communicators are matched by their order.
    }
  }

  std::mutex mutex_;
  std::map<const void*, Store> stores_;
};

[[nodiscard]] inline Stores& stores() noexcept {
  // Never destroyed: oneCCL is called until the process ends.
  static auto* const all = new Stores;
  return *all;
}

/// Adds a communicator with a key; null if oneCCL does not tell its place.
inline Entry* add(Word object, std::uint64_t key) noexcept {
  const auto size = size_of.get();
  const auto rank = rank_of.get();
  const void* behind = inside(object);
  if (behind == nullptr || size == nullptr || rank == nullptr) return nullptr;
  const auto* const communicator = reinterpret_cast<const void*>(object);
  return CollectiveLibrary<OneCcl>::communicators().add(behind, key, rank(communicator), size(communicator));
}

/// A communicator by the object behind it. One whose creation told nothing has the same key on all of its ranks if they
/// use their communicators of this size first in the same order.
[[nodiscard]] inline Entry* find(Word object) noexcept {
  const auto size_function = size_of.get();
  const void* behind = inside(object);
  if (behind == nullptr || size_function == nullptr) return nullptr;
  const int size = size_function(reinterpret_cast<const void*>(object));
  Entry* known = CollectiveLibrary<OneCcl>::communicators().find(behind);
  // Another communicator may have taken the place of one that was destroyed.
  if (known != nullptr && known->ranks == static_cast<std::uint32_t>(size)) return known;
  static std::array<std::atomic<std::uint64_t>, 64> made{};
  const std::uint64_t number = made[static_cast<std::uint32_t>(size) % made.size()].fetch_add(1);
  return add(object, mixed_key(mixed_key(0x6F6E6543434C, static_cast<std::uint64_t>(size)), number));
}

/// After the creation of a communicator with a store.
inline void created(Word object, Word store) noexcept {
  if (const std::uint64_t key = stores().next_key(store); key != 0) (void)add(object, key);
}
/// After a split: the members of a part derive its key from the parent, the number of its children and the colour.
inline void split(Word object, Word parent, Word color) noexcept {
  Entry* from = find(parent);
  if (from == nullptr) return;
  const std::uint64_t number = from->children.fetch_add(1, std::memory_order_relaxed);
  (void)add(object, mixed_key(mixed_key(from->key, number), static_cast<std::uint32_t>(color) + std::uint64_t{1}));
}

}  // namespace tutti::profiling::ccl_objects

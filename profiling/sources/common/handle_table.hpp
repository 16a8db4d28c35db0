#pragma once

#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

namespace tutti::profiling {

/// Facts about the objects of a library, by their handles. Thread-safe. An entry whose handle the library gives to a
/// new object is replaced.
template <typename Value>
class HandleTable {
 public:
  void set(const void* handle, const Value& value) noexcept {
    try {
      const std::unique_lock lock(mutex_);
      values_.insert_or_assign(handle, value);
    } catch (const std::bad_alloc&) {
      return;
    }
  }
  [[nodiscard]] std::optional<Value> get(const void* handle) const noexcept {
    const std::shared_lock lock(mutex_);
    const auto found = values_.find(handle);
    if (found == values_.end()) return std::nullopt;
    return found->second;
  }
  void remove(const void* handle) noexcept {
    const std::unique_lock lock(mutex_);
    values_.erase(handle);
  }
  [[nodiscard]] std::optional<Value> take(const void* handle) noexcept {
    const std::unique_lock lock(mutex_);
    const auto found = values_.find(handle);
    if (found == values_.end()) return std::nullopt;
    std::optional<Value> value = found->second;
    values_.erase(found);
    return value;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<const void*, Value> values_;
};

}  // namespace tutti::profiling

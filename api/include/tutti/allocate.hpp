#pragma once

#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include "tutti/export.hpp"

namespace tutti {

namespace detail {
/// Throws Error{system} when there is no memory.
[[nodiscard]] TUTTI_API void* allocate_shared(std::size_t bytes);
TUTTI_API void free_shared(void* data) noexcept;
}  // namespace detail

/// Host memory that the other ranks of this host can reach, should a collective ask for it; a contiguous range that
/// goes wherever a std::vector goes. Move-only. See allocate().
template <typename T>
class SharedArray {
  static_assert(std::is_trivially_copyable_v<T>, "the elements come into being as zero bytes");

 public:
  SharedArray() noexcept = default;
  explicit SharedArray(std::size_t count) : count_(count) {
    if (count == 0) return;
    const bool fits = count <= std::numeric_limits<std::size_t>::max() / sizeof(T);
    data_ =
        static_cast<T*>(detail::allocate_shared(fits ? count * sizeof(T) : std::numeric_limits<std::size_t>::max()));
  }
  SharedArray(SharedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  SharedArray& operator=(SharedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~SharedArray() {
    if (data_ != nullptr) detail::free_shared(data_);
  }

  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] T& operator[](std::size_t index) noexcept { return data_[index]; }
  [[nodiscard]] const T& operator[](std::size_t index) const noexcept { return data_[index]; }
  [[nodiscard]] T* begin() noexcept { return data_; }
  [[nodiscard]] T* end() noexcept { return data_ + count_; }
  [[nodiscard]] const T* begin() const noexcept { return data_; }
  [[nodiscard]] const T* end() const noexcept { return data_ + count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

/// Memory for `count` elements, all zero, that backends can use better than memory from elsewhere: when all ranks'
/// inputs and outputs of a large collective are such, the native engine reads and writes them in one pass, without
/// copies in between. Any backend takes it. Not collective; starts at a page. Only processes of this user can reach it,
/// and only through a communicator. At most 1024 allocations of a process get this treatment at a time.
template <typename T>
[[nodiscard]] SharedArray<T> allocate(std::size_t count) {
  return SharedArray<T>(count);
}

}  // namespace tutti

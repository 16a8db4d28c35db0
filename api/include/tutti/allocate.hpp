#pragma once

#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include "tutti/export.hpp"

namespace tutti {

namespace detail {
/// Throws Error{system} if memory runs out.
[[nodiscard]] TUTTI_API void* allocate_shared(std::size_t bytes);
TUTTI_API void free_shared(void* data) noexcept;
}  // namespace detail

/// Array in host memory that a collective can make accessible to the other ranks of this host. A contiguous range,
/// accepted wherever a std::vector is. Move-only. See allocate().
template <typename T>
class SharedArray {
  static_assert(std::is_trivially_copyable_v<T>, "elements start as zero bytes, so T must be trivially copyable");

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

/// Allocates `count` zeroed elements that ranks of one host can share: if the inputs and outputs of all ranks of a
/// large collective are such memory, the native engine reads and writes them in one pass, without intermediate copies.
/// All backends accept it. Not collective; page-aligned. Only processes of this user can access it, and only through a
/// communicator. At most 1024 allocations of a process are shared at a time; further ones are ordinary memory. Throws
/// Error{system} if memory runs out.
///
/// A child made by fork() reads the memory, and its writes stay with it. Pages that it has not written show later writes
/// of the parent.
///
/// When a call has thrown, no rank writes to its buffers any more. If another process was stopped in the middle of a
/// write, e.g. by a debugger, the whole pages of the output are taken out of its reach, and the allocation is ordinary
/// memory from then on.
template <typename T>
[[nodiscard]] SharedArray<T> allocate(std::size_t count) {
  return SharedArray<T>(count);
}

}  // namespace tutti

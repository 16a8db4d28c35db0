#pragma once

#include <cstddef>
#include <utility>

#include "tutti/export.hpp"

namespace tutti {

namespace detail {
TUTTI_API void share(void* data, std::size_t bytes);
TUTTI_API void unshare(void* data) noexcept;
}  // namespace detail

/// Memory of the program that other ranks can use like memory from allocate() while this object exists; see share().
/// Move-only.
class SharedRegion {
 public:
  SharedRegion() noexcept = default;
  SharedRegion(void* data, std::size_t bytes) : data_(data), bytes_(bytes) { detail::share(data, bytes); }
  SharedRegion(SharedRegion&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  SharedRegion& operator=(SharedRegion&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~SharedRegion() {
    if (data_ != nullptr) detail::unshare(data_);
  }

  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Makes memory that is not from allocate() accessible to the other ranks of this host, so that large collectives on it
/// take one pass. For long-lived buffers. Replaces the pages by shared pages with the same content at the same address,
/// and by private pages again when the region is destroyed; both cost a copy.
///
/// `data` is page-aligned, `bytes` a multiple of the page size, and the pages are private and writable, e.g. from
/// aligned_alloc(4096, ...) or mmap(). No thread may write to them during the call. While the region exists they must
/// not be freed or resized. For a child made by fork(), and after a call has thrown, see allocate(). Throws
/// Error{invalid_argument} with a description for other memory, Error{system} if memory runs out.
[[nodiscard]] inline SharedRegion share(void* data, std::size_t bytes) { return {data, bytes}; }

}  // namespace tutti

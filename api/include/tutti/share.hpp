#pragma once

#include <cstddef>
#include <utility>

#include "tutti/export.hpp"

namespace tutti {

namespace detail {
TUTTI_API void share(void* data, std::size_t bytes);
TUTTI_API void unshare(void* data) noexcept;
}  // namespace detail

/// Memory of the program's own that is as good as that of allocate() while this exists: see share(). Move-only.
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

/// Lets other ranks of this host reach memory that the program has from elsewhere, so that large collectives on it take
/// one pass; for a buffer that lives long and cannot come from allocate(). Its pages are replaced by shared ones of the
/// same content at the same address, and by private ones again when the region is destroyed; both cost a copy.
///
/// `data` begins at a page, `bytes` are whole pages, private to this process and writable: what aligned_alloc(4096, ..)
/// or mmap give. Nobody may write to them during the call. As long as the region exists they must be neither freed nor
/// resized, and a child made by fork() shares them in place of getting a copy. Throws Error{invalid_argument} for other
/// memory, saying what it is, Error{system} when there is no memory.
[[nodiscard]] inline SharedRegion share(void* data, std::size_t bytes) { return {data, bytes}; }

}  // namespace tutti

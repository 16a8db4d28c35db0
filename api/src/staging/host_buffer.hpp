#pragma once

#include <cstddef>
#include <new>
#include <string_view>
#include <utility>

#include "tutti/spi/instrument.hpp"

namespace tutti {

/// Temporary host memory of the core, reported to the observer.
class HostBuffer {
 public:
  HostBuffer() noexcept = default;
  explicit HostBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    data_ = ::operator new (bytes, std::align_val_t{64});
    spi::report_allocation(kOwner, data_, bytes_);
  }
  HostBuffer(HostBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HostBuffer() {
    if (data_ == nullptr) return;
    spi::report_free(kOwner, data_, bytes_);
    ::operator delete (data_, std::align_val_t{64});
  }

  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }

 private:
  static constexpr std::string_view kOwner = "emulation";
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tutti

#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "call/left_behind.hpp"
#include "tutti/spi/instrument.hpp"

namespace tutti {

/// Temporary host memory of the core for one operation of a backend, reported to the observer. If the operation ends by
/// an exception, a library that cannot cancel it may still write to the memory, which is then kept for ever.
class HostBuffer {
 public:
  HostBuffer() noexcept = default;
  explicit HostBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    data_ = ::operator new (bytes, std::align_val_t{64});
    spi::report_allocation(kOwner, data_, bytes_);
  }
  HostBuffer(HostBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        exceptions_(other.exceptions_) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(exceptions_, other.exceptions_);
    return *this;
  }
  ~HostBuffer() {
    if (data_ == nullptr) return;
    if (std::uncaught_exceptions() > exceptions_) {
      abandon();
      return;
    }
    spi::report_free(kOwner, data_, bytes_);
    ::operator delete (data_, std::align_val_t{64});
  }

  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }
  /// The memory as values of a type that needs no construction.
  template <typename Value>
  [[nodiscard]] std::span<Value> as() const noexcept {
    static_assert(std::is_trivially_copyable_v<Value>);
    return {static_cast<Value*>(data_), bytes_ / sizeof(Value)};
  }
  /// Keeps the memory for ever; the buffer is empty afterwards.
  void abandon() noexcept {
    if (void* const data = std::exchange(data_, nullptr)) leave_behind({data, [](void*) {}});
  }

 private:
  static constexpr std::string_view kOwner = "emulation";
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace tutti

#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <type_traits>

#include "tutti/device.hpp"
#include "tutti/types/data_type.hpp"

namespace tutti {

namespace detail {
template <typename R>
concept TypedRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && requires {
  DataTypeOf<std::remove_cvref_t<std::ranges::range_value_t<R>>>::value;
};
}  // namespace detail

/// Memory that an operation writes to. A non-owning view: the memory must stay valid until the operation has completed.
/// Made from a std::span, std::vector or std::array of a known element type, or from a pointer.
struct Buffer {
  void* data = nullptr;
  std::uint64_t count = 0;  ///< elements, not bytes
  DataType type = DataType::uint8;
  Memory where = {};

  constexpr Buffer() = default;
  constexpr Buffer(void* pointer, std::uint64_t elements, DataType element_type, Memory memory = {}) noexcept
      : data(pointer), count(elements), type(element_type), where(memory) {}
  template <typename T>
  requires requires { DataTypeOf<T>::value; }
  constexpr Buffer(T* pointer, std::uint64_t elements, Memory memory = {}) noexcept
      : Buffer(static_cast<void*>(pointer), elements, kDataTypeOf<T>, memory) {}
  template <detail::TypedRange R>
  requires(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>) constexpr Buffer(
      R&& range) noexcept  // NOLINT: implicit, so that a vector can be passed as it is
      : Buffer(std::ranges::data(range), static_cast<std::uint64_t>(std::ranges::size(range))) {}

  [[nodiscard]] constexpr std::uint64_t bytes() const noexcept { return count * size_of(type); }
};

/// Memory that an operation reads from; see Buffer.
struct ConstBuffer {
  const void* data = nullptr;
  std::uint64_t count = 0;  ///< elements, not bytes
  DataType type = DataType::uint8;
  Memory where = {};

  constexpr ConstBuffer() = default;
  constexpr ConstBuffer(const void* pointer, std::uint64_t elements, DataType element_type, Memory memory = {}) noexcept
      : data(pointer), count(elements), type(element_type), where(memory) {}
  constexpr ConstBuffer(const Buffer& other) noexcept  // NOLINT: a Buffer is a ConstBuffer
      : data(other.data), count(other.count), type(other.type), where(other.where) {}
  template <typename T>
  requires requires { DataTypeOf<T>::value; }
  constexpr ConstBuffer(const T* pointer, std::uint64_t elements, Memory memory = {}) noexcept
      : ConstBuffer(static_cast<const void*>(pointer), elements, kDataTypeOf<T>, memory) {}
  template <detail::TypedRange R>
  constexpr ConstBuffer(R&& range) noexcept  // NOLINT: implicit, so that a vector can be passed as it is
      : ConstBuffer(std::ranges::data(range), static_cast<std::uint64_t>(std::ranges::size(range))) {}

  [[nodiscard]] constexpr std::uint64_t bytes() const noexcept { return count * size_of(type); }
};

}  // namespace tutti

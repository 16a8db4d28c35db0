#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tutti/types/float8.hpp"
#include "tutti/types/half.hpp"

namespace tutti {

/// The element types every operation accepts. The C API uses the same numbers.
enum class DataType : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  float8_e4m3,
  float8_e5m2,
};

inline constexpr std::size_t kDataTypeCount = 14;

/// All types in order, for loops over them.
inline constexpr std::array<DataType, kDataTypeCount> kDataTypes = {
    DataType::int8,    DataType::int16,   DataType::int32,       DataType::int64,      DataType::uint8,
    DataType::uint16,  DataType::uint32,  DataType::uint64,      DataType::float16,    DataType::bfloat16,
    DataType::float32, DataType::float64, DataType::float8_e4m3, DataType::float8_e5m2};

namespace detail {
inline constexpr std::array<std::uint8_t, kDataTypeCount> kDataTypeSizes = {1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 1, 1};
}

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(DataType type) noexcept {
  return detail::kDataTypeSizes[static_cast<std::size_t>(type)];
}

[[nodiscard]] constexpr bool is_floating(DataType type) noexcept { return type >= DataType::float16; }

[[nodiscard]] constexpr bool is_float8(DataType type) noexcept { return is_floating(type) && size_of(type) == 1; }

/// Whether the type is a float of 8 or 16 bits, whose reductions accumulate in float32.
[[nodiscard]] constexpr bool is_narrow_float(DataType type) noexcept { return is_floating(type) && size_of(type) < 4; }

/// Name of a type: "float32", "bfloat16", ...
[[nodiscard]] constexpr std::string_view name(DataType type) noexcept {
  constexpr std::array<std::string_view, kDataTypeCount> names = {
      "int8",   "int16",   "int32",    "int64",   "uint8",   "uint16",      "uint32",
      "uint64", "float16", "bfloat16", "float32", "float64", "float8_e4m3", "float8_e5m2"};
  return names[static_cast<std::size_t>(type)];
}

/// The type with that name, or std::nullopt.
[[nodiscard]] constexpr std::optional<DataType> parse_data_type(std::string_view text) noexcept {
  for (DataType type : kDataTypes) {
    if (name(type) == text) return type;
  }
  return std::nullopt;
}

/// Maps a C++ type to its DataType. Specialise it for your own 8 and 16-bit float types and the like.
template <typename T>
struct DataTypeOf;

template <>
struct DataTypeOf<std::int8_t> {
  static constexpr DataType value = DataType::int8;
};
template <>
struct DataTypeOf<std::int16_t> {
  static constexpr DataType value = DataType::int16;
};
template <>
struct DataTypeOf<std::int32_t> {
  static constexpr DataType value = DataType::int32;
};
template <>
struct DataTypeOf<std::int64_t> {
  static constexpr DataType value = DataType::int64;
};
template <>
struct DataTypeOf<std::uint8_t> {
  static constexpr DataType value = DataType::uint8;
};
template <>
struct DataTypeOf<std::uint16_t> {
  static constexpr DataType value = DataType::uint16;
};
template <>
struct DataTypeOf<std::uint32_t> {
  static constexpr DataType value = DataType::uint32;
};
template <>
struct DataTypeOf<std::uint64_t> {
  static constexpr DataType value = DataType::uint64;
};
template <>
struct DataTypeOf<float16> {
  static constexpr DataType value = DataType::float16;
};
template <>
struct DataTypeOf<bfloat16> {
  static constexpr DataType value = DataType::bfloat16;
};
template <>
struct DataTypeOf<float> {
  static constexpr DataType value = DataType::float32;
};
template <>
struct DataTypeOf<double> {
  static constexpr DataType value = DataType::float64;
};
template <>
struct DataTypeOf<float8_e4m3> {
  static constexpr DataType value = DataType::float8_e4m3;
};
template <>
struct DataTypeOf<float8_e5m2> {
  static constexpr DataType value = DataType::float8_e5m2;
};
template <>
struct DataTypeOf<std::byte> {
  static constexpr DataType value = DataType::uint8;
};

template <typename T>
inline constexpr DataType kDataTypeOf = DataTypeOf<T>::value;

/// Calls f with a null `T*`, where T is the C++ type of `type`, and returns f's result.
template <typename F>
constexpr decltype(auto) visit(DataType type, F&& f) {
  switch (type) {
    case DataType::int8:
      return f(static_cast<std::int8_t*>(nullptr));
    case DataType::int16:
      return f(static_cast<std::int16_t*>(nullptr));
    case DataType::int32:
      return f(static_cast<std::int32_t*>(nullptr));
    case DataType::int64:
      return f(static_cast<std::int64_t*>(nullptr));
    case DataType::uint8:
      return f(static_cast<std::uint8_t*>(nullptr));
    case DataType::uint16:
      return f(static_cast<std::uint16_t*>(nullptr));
    case DataType::uint32:
      return f(static_cast<std::uint32_t*>(nullptr));
    case DataType::uint64:
      return f(static_cast<std::uint64_t*>(nullptr));
    case DataType::float16:
      return f(static_cast<float16*>(nullptr));
    case DataType::bfloat16:
      return f(static_cast<bfloat16*>(nullptr));
    case DataType::float32:
      return f(static_cast<float*>(nullptr));
    case DataType::float8_e4m3:
      return f(static_cast<float8_e4m3*>(nullptr));
    case DataType::float8_e5m2:
      return f(static_cast<float8_e5m2*>(nullptr));
    case DataType::float64:
      break;
  }
  return f(static_cast<double*>(nullptr));
}

}  // namespace tutti

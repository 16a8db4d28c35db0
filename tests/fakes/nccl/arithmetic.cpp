#include "arithmetic.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tutti/types/float8.hpp"
#include "tutti/types/half.hpp"

namespace tutti::test::fake_nccl {
namespace {

/// Type in which values of type T are combined.
template <typename T>
struct Wide {
  using Type = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
};
template <>
struct Wide<float> {
  using Type = float;
};
template <>
struct Wide<double> {
  using Type = double;
};
template <>
struct Wide<float16> {
  using Type = float;
};
template <>
struct Wide<bfloat16> {
  using Type = float;
};
template <>
struct Wide<float8_e4m3> {
  using Type = float;
};
template <>
struct Wide<float8_e5m2> {
  using Type = float;
};

template <typename T>
T combine_two(ncclRedOp_t how, T a, T b) {
  using W = typename Wide<T>::Type;
  if constexpr (std::is_integral_v<T>) {
    if (how == ncclMax) return std::max(a, b);
    if (how == ncclMin) return std::min(a, b);
  } else {
    if (how == ncclMax) return static_cast<W>(a) < static_cast<W>(b) ? b : a;
    if (how == ncclMin) return static_cast<W>(b) < static_cast<W>(a) ? b : a;
  }
  if (how == ncclProd) return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
}

template <typename T>
void combine_as(const Task& task, const std::vector<const std::byte*>& inputs, std::byte* output) {
  constexpr bool kIsInteger = std::is_integral_v<T>;
  const auto ranks = static_cast<T>(static_cast<float>(inputs.size()));
  double factor = task.factor;
  if (!kIsInteger && task.reduction == ncclAvg) factor = 1.0 / static_cast<double>(inputs.size());
  const auto load = [&](std::size_t rank, std::uint64_t index) {
    T value;
    std::memcpy(&value, inputs[rank] + index * sizeof(T), sizeof(T));
    if constexpr (!kIsInteger) {
      using W = typename Wide<T>::Type;
      if (factor != 1.0)
        value = static_cast<T>(static_cast<W>(value) * static_cast<W>(static_cast<T>(static_cast<W>(factor))));
    }
    return value;
  };
  for (std::uint64_t i = 0; i < task.count; ++i) {
    T value = load(0, i);
    for (std::size_t rank = 1; rank < inputs.size(); ++rank) {
      value = combine_two(task.reduction, value, load(rank, i));
    }
    if constexpr (kIsInteger) {
      if (task.reduction == ncclAvg) value = static_cast<T>(value / ranks);
    }
    std::memcpy(output + i * sizeof(T), &value, sizeof(T));
  }
}

template <typename T>
double load_as(const void* scalar) {
  T value;
  std::memcpy(&value, scalar, sizeof value);
  if constexpr (sizeof(T) <= 2)
    return static_cast<double>(static_cast<float>(value));
  else
    return static_cast<double>(value);
}

}  // namespace

void combine(const Task& task, const std::vector<const std::byte*>& inputs, std::byte* output) {
  switch (task.type) {
    case ncclInt8:
      return combine_as<std::int8_t>(task, inputs, output);
    case ncclUint8:
      return combine_as<std::uint8_t>(task, inputs, output);
    case ncclInt32:
      return combine_as<std::int32_t>(task, inputs, output);
    case ncclUint32:
      return combine_as<std::uint32_t>(task, inputs, output);
    case ncclInt64:
      return combine_as<std::int64_t>(task, inputs, output);
    case ncclUint64:
      return combine_as<std::uint64_t>(task, inputs, output);
    case ncclFloat16:
      return combine_as<float16>(task, inputs, output);
    case ncclBfloat16:
      return combine_as<bfloat16>(task, inputs, output);
    case ncclFloat8e4m3:
      return combine_as<float8_e4m3>(task, inputs, output);
    case ncclFloat8e5m2:
      return combine_as<float8_e5m2>(task, inputs, output);
    case ncclFloat32:
      return combine_as<float>(task, inputs, output);
    default:
      return combine_as<double>(task, inputs, output);
  }
}

double load_scalar(const void* scalar, ncclDataType_t type) {
  switch (type) {
    case ncclFloat16:
      return load_as<float16>(scalar);
    case ncclBfloat16:
      return load_as<bfloat16>(scalar);
    case ncclFloat8e4m3:
      return load_as<float8_e4m3>(scalar);
    case ncclFloat8e5m2:
      return load_as<float8_e5m2>(scalar);
    case ncclFloat32:
      return load_as<float>(scalar);
    default:
      return load_as<double>(scalar);
  }
}

}  // namespace tutti::test::fake_nccl

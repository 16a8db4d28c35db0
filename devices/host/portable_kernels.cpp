#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "integer_division.hpp"
#include "kernel_table.hpp"

namespace tutti::host {
namespace {

/// The type in which elements are combined.
template <typename T>
using Accumulator = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

/// Integers wrap around; unsigned arithmetic of at least int's width does so without overflow or promotion surprises.
template <typename A>
using Wrapping = std::common_type_t<std::make_unsigned_t<A>, unsigned>;

struct Sum {
  template <typename A>
  static A combine(A a, A b) noexcept {
    if constexpr (std::is_integral_v<A>) return static_cast<A>(Wrapping<A>(a) + Wrapping<A>(b));
    else return a + b;
  }
};

struct Product {
  template <typename A>
  static A combine(A a, A b) noexcept {
    if constexpr (std::is_integral_v<A>) return static_cast<A>(Wrapping<A>(a) * Wrapping<A>(b));
    else return a * b;
  }
};

// The first of equal values (-0 and +0) wins, and a NaN wins over everything.
struct Min {
  template <typename A>
  static A combine(A a, A b) noexcept { return a <= b || a != a ? a : b; }
};

struct Max {
  template <typename A>
  static A combine(A a, A b) noexcept { return a >= b || a != a ? a : b; }
};

struct BitAnd {
  template <typename A>
  static A combine(A a, A b) noexcept { return static_cast<A>(a & b); }
};

struct BitOr {
  template <typename A>
  static A combine(A a, A b) noexcept { return static_cast<A>(a | b); }
};

struct BitXor {
  template <typename A>
  static A combine(A a, A b) noexcept { return static_cast<A>(a ^ b); }
};

/// A bitwise operation on truth values.
template <typename Bitwise>
struct Logical : Bitwise {};

template <typename Op>
inline constexpr bool kIsLogical = false;
template <typename Bitwise>
inline constexpr bool kIsLogical<Logical<Bitwise>> = true;

template <typename Op, typename A>
A prepare(A value, A prescale) noexcept {
  if constexpr (kIsLogical<Op>) return static_cast<A>(value != 0);
  else if constexpr (std::is_floating_point_v<A>) return value * prescale;
  else return value;
}

template <typename T>
Accumulator<T> load(const void* from, std::size_t i) noexcept {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(from) + i * sizeof(T), sizeof(T));
  return static_cast<Accumulator<T>>(value);
}

template <typename T>
void store(void* to, std::size_t i, Accumulator<T> value) noexcept {
  const T stored(value);
  std::memcpy(static_cast<std::byte*>(to) + i * sizeof(T), &stored, sizeof(T));
}

template <typename A>
A canonical(A value) noexcept {
  return value != value ? std::numeric_limits<A>::quiet_NaN() : value;
}

template <typename A>
void finish(A* values, std::size_t count, std::uint64_t divisor) noexcept {
  if constexpr (std::is_integral_v<A>) {
    divide_each(values, count, divisor);
  } else {
    const A by = static_cast<A>(divisor);
    for (std::size_t i = 0; i < count; ++i) values[i] = canonical(values[i] / by);
  }
}

/// Elements that are combined at a time: few enough that the accumulators stay in the first-level cache.
constexpr std::size_t kBlock = 512;

template <typename Op, typename T>
void reduce(void* const* outputs, int outputs_count, const void* const* inputs, int sources, std::size_t count,
            const spi::ReduceTuning& tuning) {
  using A = Accumulator<T>;
  const A prescale = static_cast<A>(std::is_integral_v<A> ? 1.0 : tuning.prescale);
  alignas(64) A values[kBlock];
  for (std::size_t first = 0; first < count; first += kBlock) {
    const std::size_t block = std::min(kBlock, count - first);
    for (std::size_t i = 0; i < block; ++i) values[i] = prepare<Op>(load<T>(inputs[0], first + i), prescale);
    for (int source = 1; source < sources; ++source) {
      const void* from = inputs[source];
      for (std::size_t i = 0; i < block; ++i) {
        values[i] = Op::combine(values[i], prepare<Op>(load<T>(from, first + i), prescale));
      }
    }
    finish(values, block, tuning.divisor);
    for (int output = 0; output < outputs_count; ++output) {
      void* to = outputs[output];
      for (std::size_t i = 0; i < block; ++i) store<T>(to, first + i, values[i]);
    }
  }
}

template <typename T>
void scale(void* data, std::size_t count, double factor, std::uint64_t divisor) {
  using A = Accumulator<T>;
  alignas(64) A values[kBlock];
  for (std::size_t first = 0; first < count; first += kBlock) {
    const std::size_t block = std::min(kBlock, count - first);
    for (std::size_t i = 0; i < block; ++i) values[i] = load<T>(data, first + i);
    finish(values, block, divisor);
    if constexpr (std::is_floating_point_v<A>) {
      for (std::size_t i = 0; i < block; ++i) values[i] = canonical(values[i] * static_cast<A>(factor));
    }
    for (std::size_t i = 0; i < block; ++i) store<T>(data, first + i, values[i]);
  }
}

template <typename To, typename From>
void convert(void* to, const void* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) store<To>(to, i, static_cast<Accumulator<To>>(load<From>(from, i)));
}

void copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

template <typename T>
void fill(KernelTable& table) noexcept {
  constexpr DataType type = kDataTypeOf<T>;
  constexpr auto index = static_cast<std::size_t>(type);
  table.at(Reduction::sum, type) = table.at(Reduction::average, type) = reduce<Sum, T>;
  table.at(Reduction::product, type) = reduce<Product, T>;
  table.at(Reduction::min, type) = reduce<Min, T>;
  table.at(Reduction::max, type) = reduce<Max, T>;
  if constexpr (std::is_integral_v<T>) {
    table.at(Reduction::bit_and, type) = reduce<BitAnd, T>;
    table.at(Reduction::bit_or, type) = reduce<BitOr, T>;
    table.at(Reduction::bit_xor, type) = reduce<BitXor, T>;
    table.at(Reduction::logical_and, type) = reduce<Logical<BitAnd>, T>;
    table.at(Reduction::logical_or, type) = reduce<Logical<BitOr>, T>;
    table.at(Reduction::logical_xor, type) = reduce<Logical<BitXor>, T>;
  }
  table.scale[index] = scale<T>;
  if constexpr (!std::is_arithmetic_v<T>) {
    table.widen[index] = convert<float, T>;
    table.narrow[index] = convert<T, float>;
  }
}

}  // namespace

KernelTable portable_kernels() noexcept {
  KernelTable table;
  table.target = "portable";
  for (DataType type : kDataTypes) {
    visit(type, [&table]<typename T>(T*) { fill<T>(table); });
  }
  table.copy = table.stream_copy = copy;
  return table;
}

#if !TUTTI_HAVE_HIGHWAY
KernelTable best_kernels() noexcept { return portable_kernels(); }

std::vector<KernelTable> usable_kernels() { return {portable_kernels()}; }
#endif

}  // namespace tutti::host

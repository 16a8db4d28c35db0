// Compiled at run time by the SYCL runtime's kernel compiler, not with the project. CMake puts tutti/types/half.hpp,
// tutti/types/float8.hpp and reduce_arguments.hpp before it, sycl_kernels.cpp defines TUTTI_KERNEL_TYPE and
// TUTTI_KERNEL_INTEGER. The semantics are those of devices/host.
#include <cstddef>
#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#include <type_traits>

namespace tutti::sycl_kernels {

template <typename T>
using Accumulator = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

template <typename A>
using Wrapping = std::common_type_t<std::make_unsigned_t<A>, unsigned>;

struct Sum {
  template <typename A>
  static A combine(A a, A b) {
    if constexpr (std::is_integral_v<A>)
      return static_cast<A>(Wrapping<A>(a) + Wrapping<A>(b));
    else
      return a + b;
  }
};
struct Product {
  template <typename A>
  static A combine(A a, A b) {
    if constexpr (std::is_integral_v<A>)
      return static_cast<A>(Wrapping<A>(a) * Wrapping<A>(b));
    else
      return a * b;
  }
};
// The first of equal values (-0 and +0) wins, and a NaN wins over everything.
struct Min {
  template <typename A>
  static A combine(A a, A b) {
    return a <= b || a != a ? a : b;
  }
};
struct Max {
  template <typename A>
  static A combine(A a, A b) {
    return a >= b || a != a ? a : b;
  }
};
struct BitAnd {
  template <typename A>
  static A combine(A a, A b) {
    return static_cast<A>(a & b);
  }
};
struct BitOr {
  template <typename A>
  static A combine(A a, A b) {
    return static_cast<A>(a | b);
  }
};
struct BitXor {
  template <typename A>
  static A combine(A a, A b) {
    return static_cast<A>(a ^ b);
  }
};
template <typename Bitwise>
struct Logical : Bitwise {};

template <typename Op>
inline constexpr bool kIsLogical = false;
template <typename Bitwise>
inline constexpr bool kIsLogical<Logical<Bitwise>> = true;

/// The factor of the inputs. Only kernels of float64 may use a double, since not every device has float64.
template <typename A>
A prescale(const ReduceArguments& arguments) {
  if constexpr (std::is_same_v<A, double>)
    return std::bit_cast<double>(arguments.prescale64);
  else if constexpr (std::is_same_v<A, float>)
    return arguments.prescale32;
  else
    return A{1};
}

template <typename Op, typename T>
Accumulator<T> load(const void* from, std::uint64_t i, Accumulator<T> factor) {
  using A = Accumulator<T>;
  const A value = static_cast<A>(static_cast<const T*>(from)[i]);
  if constexpr (kIsLogical<Op>)
    return static_cast<A>(value != 0);
  else if constexpr (std::is_floating_point_v<A>)
    return value * factor;
  else
    return value;
}

template <typename A>
A finish(A value, std::uint64_t divisor) {
  if constexpr (std::is_floating_point_v<A>) {
    value = value / static_cast<A>(divisor);
    if constexpr (sizeof(A) == 8)
      return value != value ? std::bit_cast<A>(std::uint64_t{0x7FF8000000000000u}) : value;
    else
      return value != value ? std::bit_cast<A>(std::uint32_t{0x7FC00000u}) : value;
  } else {
    if (divisor == 1) return value;
    if constexpr (std::is_signed_v<A>) {
      const auto wide = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
      const std::uint64_t quotient = (value < 0 ? 0 - wide : wide) / divisor;
      return static_cast<A>(value < 0 ? 0 - quotient : quotient);
    } else {
      return static_cast<A>(static_cast<std::uint64_t>(value) / divisor);
    }
  }
}

template <typename Op>
void reduce(const ReduceArguments& arguments) {
  using T = TUTTI_KERNEL_TYPE;
  using A = Accumulator<T>;
  const auto item = sycl::ext::oneapi::this_work_item::get_nd_item<1>();
  const A factor = prescale<A>(arguments);
  for (std::uint64_t i = item.get_global_linear_id(); i < arguments.count; i += item.get_global_range(0)) {
    A value = load<Op, T>(arguments.inputs[0], i, factor);
    for (std::uint32_t source = 1; source < arguments.sources; ++source) {
      value = Op::combine(value, load<Op, T>(arguments.inputs[source], i, factor));
    }
    const T result(finish(value, arguments.divisor));
    for (std::uint32_t k = 0; k < arguments.outputs_count; ++k) static_cast<T*>(arguments.outputs[k])[i] = result;
  }
}

}  // namespace tutti::sycl_kernels

#define TUTTI_KERNEL(name, Op)                                                                                   \
  extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>)) void name( \
      tutti::sycl_kernels::ReduceArguments arguments) {                                                          \
    using namespace tutti::sycl_kernels;                                                                         \
    reduce<Op>(arguments);                                                                                       \
  }

TUTTI_KERNEL(tutti_sum, Sum)
TUTTI_KERNEL(tutti_product, Product)
TUTTI_KERNEL(tutti_min, Min)
TUTTI_KERNEL(tutti_max, Max)
#if TUTTI_KERNEL_INTEGER
TUTTI_KERNEL(tutti_bit_and, BitAnd)
TUTTI_KERNEL(tutti_bit_or, BitOr)
TUTTI_KERNEL(tutti_bit_xor, BitXor)
TUTTI_KERNEL(tutti_logical_and, Logical<BitAnd>)
TUTTI_KERNEL(tutti_logical_or, Logical<BitOr>)
TUTTI_KERNEL(tutti_logical_xor, Logical<BitXor>)
#endif

#include "highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "highway_integer_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "integer_division.hpp"
#include "reduce-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tutti::host {
namespace HWY_NAMESPACE {

#if TUTTI_VECTOR_TARGET

namespace {

struct Untouched {
  template <class V>
  HWY_INLINE V before(V v) const {
    return v;
  }
  template <class V>
  HWY_INLINE V after(V v) const {
    return v;
  }
};

template <class Op, typename T>
void plain(const Range& range) {
  reduce<Op, Lanes<T>>(range, Untouched());
}

/// Divides each block while it is in the first-level cache.
template <typename T>
void divided(void (*combine)(const Range&), const Range& range, std::uint64_t divisor) {
  by_blocks(range, sizeof(T), [&](const Range& block) HWY_ATTR {
    combine(block);
    divide_each(static_cast<T*>(block.outputs[0]), block.bytes / sizeof(T), divisor);
  });
}

/// `Arithmetic` is the type of the computation: unsigned where signedness makes no difference, so that signed and
/// unsigned types share the code.
template <class Op, typename T, typename Arithmetic>
void kernel(void* const* outputs, int outputs_count, const void* const* inputs, int sources, std::size_t count,
            const spi::ReduceTuning& tuning) {
  const Range range{outputs, outputs_count, inputs, sources, count * sizeof(T), tuning.streamed_outputs};
  if (tuning.divisor == 1)
    plain<Op, Arithmetic>(range);
  else
    divided<T>(plain<Op, Arithmetic>, range, tuning.divisor);
  if (tuning.streamed_outputs > 0) hwy::FlushStream();
}

template <typename T>
void scale(void* data, std::size_t count, double, std::uint64_t divisor) {
  constexpr std::size_t kBlock = 4096 / sizeof(T);
  alignas(64) T block[kBlock];
  auto* bytes = static_cast<std::uint8_t*>(data);
  for (std::size_t first = 0; first < count; first += kBlock) {
    const std::size_t size = std::min(kBlock, count - first) * sizeof(T);
    std::memcpy(block, bytes + first * sizeof(T), size);
    divide_each(block, size / sizeof(T), divisor);
    std::memcpy(bytes + first * sizeof(T), block, size);
  }
}

template <typename T>
void add(KernelTable& table) {
  using Unsigned = std::make_unsigned_t<T>;
  constexpr DataType type = kDataTypeOf<T>;
  table.at(Reduction::sum, type) = table.at(Reduction::average, type) = kernel<Sum, T, Unsigned>;
  table.at(Reduction::product, type) = kernel<Product, T, Unsigned>;
  table.at(Reduction::min, type) = kernel<Min, T, T>;
  table.at(Reduction::max, type) = kernel<Max, T, T>;
  table.at(Reduction::bit_and, type) = kernel<BitAnd, T, Unsigned>;
  table.at(Reduction::bit_or, type) = kernel<BitOr, T, Unsigned>;
  table.at(Reduction::bit_xor, type) = kernel<BitXor, T, Unsigned>;
  table.at(Reduction::logical_and, type) = kernel<Logical<BitAnd>, T, Unsigned>;
  table.at(Reduction::logical_or, type) = kernel<Logical<BitOr>, T, Unsigned>;
  table.at(Reduction::logical_xor, type) = kernel<Logical<BitXor>, T, Unsigned>;
  table.scale[static_cast<std::size_t>(type)] = scale<T>;
}

}  // namespace

void add_integers(KernelTable& table) {
  add<std::int8_t>(table);
  add<std::int16_t>(table);
  add<std::int32_t>(table);
  add<std::int64_t>(table);
  add<std::uint8_t>(table);
  add<std::uint16_t>(table);
  add<std::uint32_t>(table);
  add<std::uint64_t>(table);
}

#else

void add_integers(KernelTable&) {}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tutti::host
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::host {

HWY_EXPORT(add_integers);

void add_integer_kernels(KernelTable& table) noexcept { HWY_DYNAMIC_DISPATCH(add_integers)(table); }

}  // namespace tutti::host
#endif

#include "highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "highway_floating_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "reduce-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tutti::host {
namespace HWY_NAMESPACE {

#if TUTTI_VECTOR_TARGET

namespace {

struct Unscaled {
  template <class V>
  HWY_INLINE V before(V v) const { return v; }
  template <class V>
  HWY_INLINE V after(V v) const { return canonical(v); }
};

/// Multiplying or dividing by 1 changes no bit, so prescale and divisor need no cases of their own.
template <class V>
struct Scaled {
  V prescale;
  V divisor;

  HWY_INLINE V before(V v) const { return hn::Mul(v, prescale); }
  HWY_INLINE V after(V v) const { return canonical(hn::Div(v, divisor)); }
};

/// Divides first and multiplies last, see spi::scale.
template <class V>
struct Rescaled {
  V divisor;
  V factor;

  HWY_INLINE V before(V v) const { return hn::Div(v, divisor); }
  HWY_INLINE V after(V v) const { return canonical(hn::Mul(v, factor)); }
};

template <class L, typename Number>
HWY_INLINE typename L::Vector broadcast(Number value) {
  return hn::Set(typename L::Tag(), static_cast<hn::TFromD<typename L::Tag>>(value));
}

template <class Op, typename T>
void kernel(void* const* outputs, int outputs_count, const void* const* inputs, int sources, std::size_t count,
            const spi::ReduceTuning& tuning) {
  using L = Lanes<T>;
  const Range range{outputs, outputs_count, inputs, sources, count * sizeof(T), tuning.streamed_outputs};
  if (tuning.prescale == 1.0 && tuning.divisor == 1) {
    reduce<Op, L>(range, Unscaled());
  } else {
    reduce<Op, L>(range, Scaled<typename L::Vector>{broadcast<L>(tuning.prescale), broadcast<L>(tuning.divisor)});
  }
  if (tuning.streamed_outputs > 0) hwy::FlushStream();
}

template <typename T>
void scale(void* data, std::size_t count, double factor, std::uint64_t divisor) {
  using L = Lanes<T>;
  const void* const inputs[] = {data};
  const Range range{&data, 1, inputs, 1, count * sizeof(T), 0};
  reduce<Sum, L>(range, Rescaled<typename L::Vector>{broadcast<L>(divisor), broadcast<L>(factor)});
}

/// Calls convert_lanes(to, from) for each register of float32; the rest at the end passes through buffers.
template <typename To, typename From, class ConvertLanes>
HWY_INLINE void convert_each(void* to, const void* from, std::size_t count, ConvertLanes convert_lanes) {
  constexpr std::size_t kStep = hn::MaxLanes(FloatTag());
  auto* output = static_cast<std::uint8_t*>(to);
  const auto* input = static_cast<const std::uint8_t*>(from);
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    convert_lanes(reinterpret_cast<To*>(output + i * sizeof(To)),
                  reinterpret_cast<const From*>(input + i * sizeof(From)));
  }
  if (i == count) return;
  alignas(64) From rest[kStep] = {};
  alignas(64) To converted[kStep];
  std::memcpy(rest, input + i * sizeof(From), (count - i) * sizeof(From));
  convert_lanes(converted, rest);
  std::memcpy(output + i * sizeof(To), converted, (count - i) * sizeof(To));
}

template <typename T>
void widen(void* to, const void* from, std::size_t count) {
  using Tag = typename NarrowFormat<T>::Tag;
  using Bits = hn::TFromD<Tag>;
  convert_each<float, Bits>(to, from, count, [](float* wide, const Bits* bits) HWY_ATTR {
    hn::StoreU(NarrowFormat<T>::widen(hn::LoadU(Tag(), bits)), FloatTag(), wide);
  });
}

template <typename T>
void narrow(void* to, const void* from, std::size_t count) {
  using Tag = typename NarrowFormat<T>::Tag;
  using Bits = hn::TFromD<Tag>;
  convert_each<Bits, float>(to, from, count, [](Bits* bits, const float* wide) HWY_ATTR {
    hn::StoreU(NarrowFormat<T>::round(hn::LoadU(FloatTag(), wide)), Tag(), bits);
  });
}

/// The loop copies whole lines of the destination. Both ends, which share their lines with other data, use memcpy.
template <bool kStream>
void copy(void* to, const void* from, std::size_t bytes) {
  using L = Lanes<std::uint8_t>;
  auto* output = static_cast<std::uint8_t*>(to);
  const auto* input = static_cast<const std::uint8_t*>(from);
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kStep = 2 * kLine;
  constexpr std::size_t kVectors = kStep / L::kBytes;
  static_assert(kLine % L::kBytes == 0);
  const std::size_t head = std::min((kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine, bytes);
  std::memcpy(output, input, head);
  std::size_t at = head;
  for (; at + kStep <= bytes; at += kStep) {
    L::Vector v[kVectors];
    for (std::size_t k = 0; k < kVectors; ++k) L::load(input + at + k * L::kBytes, v + k);
    for (std::size_t k = 0; k < kVectors; ++k) {
      if constexpr (kStream) L::stream(v + k, output + at + k * L::kBytes);
      else L::store(v + k, output + at + k * L::kBytes);
    }
  }
  std::memcpy(output + at, input + at, bytes - at);
  if constexpr (kStream) hwy::FlushStream();
}

template <typename T>
void add(KernelTable& table) {
  constexpr DataType type = kDataTypeOf<T>;
  constexpr auto index = static_cast<std::size_t>(type);
  table.at(Reduction::sum, type) = table.at(Reduction::average, type) = kernel<Sum, T>;
  table.at(Reduction::product, type) = kernel<Product, T>;
  table.at(Reduction::min, type) = kernel<Min, T>;
  table.at(Reduction::max, type) = kernel<Max, T>;
  table.scale[index] = scale<T>;
  if constexpr (is_narrow_float(type)) {
    table.widen[index] = widen<T>;
    table.narrow[index] = narrow<T>;
  }
}

}  // namespace

void add_floats(KernelTable& table) {
  table.target = hwy::TargetName(HWY_TARGET);
  table.copy = copy<false>;
  table.stream_copy = copy<true>;
  add<float16>(table);
  add<bfloat16>(table);
  add<float8_e4m3>(table);
  add<float8_e5m2>(table);
  add<float>(table);
  add<double>(table);
}

#else

void add_floats(KernelTable&) {}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tutti::host
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::host {

HWY_EXPORT(add_floats);

void add_floating_kernels(KernelTable& table) noexcept { HWY_DYNAMIC_DISPATCH(add_floats)(table); }

KernelTable best_kernels() noexcept {
  KernelTable table = portable_kernels();
  add_integer_kernels(table);
  add_floating_kernels(table);
  return table;
}

std::vector<KernelTable> usable_kernels() {
  std::vector<KernelTable> tables;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    tables.push_back(best_kernels());
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  if (tables.empty() || tables.back().target != portable_kernels().target) tables.push_back(portable_kernels());
  return tables;
}

}  // namespace tutti::host
#endif

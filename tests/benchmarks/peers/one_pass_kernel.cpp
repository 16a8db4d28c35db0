#include "one_pass_kernel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "peers/one_pass_kernel.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tutti::bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Several vectors per iteration, so that whole cache lines are written together.
constexpr std::size_t kUnroll = 4;

template <bool kStreaming>
std::size_t run(std::span<const float* const> inputs, std::span<float* const> outputs, std::size_t count) {
  const hn::ScalableTag<float> tag;
  const std::size_t step = hn::Lanes(tag);
  std::size_t i = 0;
  for (; i + kUnroll * step <= count; i += kUnroll * step) {
    const float* first = inputs[0] + i;
    auto a = hn::LoadU(tag, first);
    auto b = hn::LoadU(tag, first + step);
    auto c = hn::LoadU(tag, first + 2 * step);
    auto d = hn::LoadU(tag, first + 3 * step);
    for (std::size_t k = 1; k < inputs.size(); ++k) {
      const float* next = inputs[k] + i;
      a = hn::Add(a, hn::LoadU(tag, next));
      b = hn::Add(b, hn::LoadU(tag, next + step));
      c = hn::Add(c, hn::LoadU(tag, next + 2 * step));
      d = hn::Add(d, hn::LoadU(tag, next + 3 * step));
    }
    for (float* const output : outputs) {
      float* const to = output + i;
      if constexpr (kStreaming) {
        hn::Stream(a, tag, to);
        hn::Stream(b, tag, to + step);
        hn::Stream(c, tag, to + 2 * step);
        hn::Stream(d, tag, to + 3 * step);
      } else {
        hn::StoreU(a, tag, to);
        hn::StoreU(b, tag, to + step);
        hn::StoreU(c, tag, to + 2 * step);
        hn::StoreU(d, tag, to + 3 * step);
      }
    }
  }
  if constexpr (kStreaming) hwy::FlushStream();
  return i;
}

std::size_t run_plain(std::span<const float* const> inputs, std::span<float* const> outputs, std::size_t count) {
  return run<false>(inputs, outputs, count);
}

std::size_t run_streaming(std::span<const float* const> inputs, std::span<float* const> outputs, std::size_t count) {
  return run<true>(inputs, outputs, count);
}

const char* unit() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace tutti::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace tutti::bench {
HWY_EXPORT(run_plain);
HWY_EXPORT(run_streaming);
HWY_EXPORT(unit);

void one_pass(std::span<const float* const> inputs, std::span<float* const> outputs, std::size_t count, Writes stores) {
  // Streaming stores need whole cache lines; a message without an aligned line is small enough for the cache.
  const bool aligned = std::ranges::all_of(
      outputs, [](const float* output) { return reinterpret_cast<std::uintptr_t>(output) % 64 == 0; });
  std::size_t done = stores == Writes::streaming && aligned
                         ? HWY_DYNAMIC_DISPATCH(run_streaming)(inputs, outputs, count)
                         : HWY_DYNAMIC_DISPATCH(run_plain)(inputs, outputs, count);
  for (; done < count; ++done) {
    float sum = 0;
    for (const float* const input : inputs) sum += input[done];
    for (float* const output : outputs) output[done] = sum;
  }
}

std::string one_pass_unit() { return HWY_DYNAMIC_DISPATCH(unit)(); }

}  // namespace tutti::bench
#endif

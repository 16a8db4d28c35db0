// Included once per instruction set, hence a toggled guard in place of `#pragma once`.
#if defined(TUTTI_HOST_REDUCE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_HOST_REDUCE_INL_HPP
#undef TUTTI_HOST_REDUCE_INL_HPP
#else
#define TUTTI_HOST_REDUCE_INL_HPP
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "combine-inl.hpp"
#include "lanes-inl.hpp"
#include "tutti/spi/kernels.hpp"

#if TUTTI_VECTOR_TARGET
HWY_BEFORE_NAMESPACE();
namespace tutti::host {
namespace HWY_NAMESPACE {

/// A range of elements to reduce, in bytes.
struct Range {
  void* const* outputs;
  int outputs_count;
  const void* const* inputs;
  int sources;
  std::size_t bytes;
  int streamed_outputs;
  std::size_t input_offset = 0;
  std::size_t output_offset = 0;
};

/// Where the results go. Each output decides for itself whether it can be streamed to.
struct Destination {
  std::uint8_t* to[spi::kMostOutputs];
  std::uint64_t streamed = 0;  // a bit per output
  int count;

  explicit Destination(const Range& range) : count(range.outputs_count) {
    for (int k = 0; k < count; ++k) to[k] = static_cast<std::uint8_t*>(range.outputs[k]) + range.output_offset;
  }
};

/// A whole register in memory.
template <class L>
struct Whole {
  static HWY_INLINE void load(const std::uint8_t* from, typename L::Vector* parts) { L::load(from, parts); }
  static HWY_INLINE void store(const typename L::Vector* parts, std::uint8_t* to, bool streamed) {
    if (streamed) L::stream(parts, to);
    else L::store(parts, to);
  }
};

/// The first `bytes` of a register in memory. It goes through the same instructions as a whole one, which is what makes
/// the result of an element independent of its position.
template <class L>
struct Partial {
  std::size_t bytes;

  HWY_INLINE void load(const std::uint8_t* from, typename L::Vector* parts) const {
    alignas(64) std::uint8_t buffer[L::kBytes] = {};
    std::memcpy(buffer, from, bytes);
    L::load(buffer, parts);
  }
  HWY_INLINE void store(const typename L::Vector* parts, std::uint8_t* to, bool) const {
    alignas(64) std::uint8_t buffer[L::kBytes];
    L::store(parts, buffer);
    std::memcpy(to, buffer, bytes);
  }
};

/// Combines kUnroll registers' worth of elements at byte `at`. Everything is read before anything is written, so an
/// output may be an input.
template <class Op, class L, int kUnroll, class Access, class Tuning>
HWY_INLINE void reduce_step(const Range& range, const Destination& out, const Access& access, const Tuning& tuning,
                            std::size_t at) {
  constexpr int kValues = kUnroll * L::kParts;
  typename L::Vector values[kValues];
  typename L::Vector next[kValues];
  const auto load = [&](int s, typename L::Vector* to) HWY_ATTR {
    const auto* from = static_cast<const std::uint8_t*>(range.inputs[s]) + range.input_offset + at;
    for (int u = 0; u < kUnroll; ++u) access.load(from + u * L::kBytes, to + u * L::kParts);
    for (int i = 0; i < kValues; ++i) to[i] = tuning.before(Op::prepare(to[i]));
  };
  load(0, values);
  // A block of registers per source hides the cost of this loop: code for a fixed number of sources is no faster.
  for (int s = 1; s < range.sources; ++s) {
    load(s, next);
    for (int i = 0; i < kValues; ++i) values[i] = Op::combine(values[i], next[i]);
  }
  for (int i = 0; i < kValues; ++i) values[i] = tuning.after(values[i]);
  for (int k = 0; k < out.count; ++k) {
    std::uint8_t* to = out.to[k] + at;
    const bool streamed = (out.streamed >> k & 1) != 0;
    for (int u = 0; u < kUnroll; ++u) access.store(values + u * L::kParts, to + u * L::kBytes, streamed);
  }
}

/// Less than a register, at either end; out of line to keep the code small.
template <class Op, class L, class Tuning>
HWY_NOINLINE void reduce_partial(const Range& range, const Destination& out, const Tuning& tuning, std::size_t at,
                                 std::size_t bytes) {
  reduce_step<Op, L, 1>(range, out, Partial<L>{bytes}, tuning, at);
}

template <class Op, class L, class Tuning>
void reduce(const Range& range, const Tuning& tuning) {
  constexpr int kUnroll = 4 / L::kParts;
  Destination out(range);
  std::size_t at = 0;
  if (range.streamed_outputs > 0) {
    // Whole lines leave the core at once; half of one would wait for the other.
    constexpr std::size_t kLine = 64;
    const auto past = reinterpret_cast<std::uintptr_t>(out.to[0]) % kLine;
    const std::size_t head = std::min((kLine - past) % kLine, range.bytes);
    if (head % L::kElementBytes == 0) {
      for (; at + L::kBytes <= head; at += L::kBytes) reduce_step<Op, L, 1>(range, out, Whole<L>(), tuning, at);
      if (at < head) reduce_partial<Op, L>(range, out, tuning, at, head - at);
      at = head;
    }
    for (int k = 0; k < range.streamed_outputs; ++k) {
      const bool aligned = reinterpret_cast<std::uintptr_t>(out.to[k] + at) % L::kBytes == 0;
      out.streamed |= std::uint64_t{aligned} << k;
    }
  }
  const std::size_t bytes = range.bytes;
  for (; at + kUnroll * L::kBytes <= bytes; at += kUnroll * L::kBytes) {
    reduce_step<Op, L, kUnroll>(range, out, Whole<L>(), tuning, at);
  }
  for (; at + L::kBytes <= bytes; at += L::kBytes) reduce_step<Op, L, 1>(range, out, Whole<L>(), tuning, at);
  if (at < bytes) reduce_partial<Op, L>(range, out, tuning, at, bytes - at);
}

}  // namespace HWY_NAMESPACE
}  // namespace tutti::host
HWY_AFTER_NAMESPACE();
#endif

#endif

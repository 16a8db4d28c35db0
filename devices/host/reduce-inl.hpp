// Included once per instruction set, hence a toggled guard in place of `#pragma once`.
#if defined(TUTTI_HOST_REDUCE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_HOST_REDUCE_INL_HPP
#undef TUTTI_HOST_REDUCE_INL_HPP
#else
#define TUTTI_HOST_REDUCE_INL_HPP
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "combine-inl.hpp"
#include "float8-inl.hpp"
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

/// A whole register in memory.
template <class L>
struct Whole {
  static HWY_INLINE void load(const std::uint8_t* from, typename L::Vector* parts) { L::load(from, parts); }
  static HWY_INLINE void store(const typename L::Vector* parts, std::uint8_t* to) { L::store(parts, to); }
};

/// The first `bytes` of a register in memory. Uses the same instructions as a whole register, so that the result of an
/// element does not depend on its position.
template <class L>
struct Partial {
  std::size_t bytes;

  HWY_INLINE void load(const std::uint8_t* from, typename L::Vector* parts) const {
    alignas(64) std::uint8_t buffer[L::kBytes] = {};
    std::memcpy(buffer, from, bytes);
    L::load(buffer, parts);
  }
  HWY_INLINE void store(const typename L::Vector* parts, std::uint8_t* to) const {
    alignas(64) std::uint8_t buffer[L::kBytes];
    L::store(parts, buffer);
    std::memcpy(to, buffer, bytes);
  }
};

/// Combines kUnroll registers' worth of elements at byte `at`. Everything is read before anything is written, so an
/// output may be an input.
template <class Op, class L, int kUnroll, class Access, class Tuning>
HWY_INLINE void reduce_step(const Range& range, const Access& access, const Tuning& tuning, std::size_t at) {
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
  for (int k = 0; k < range.outputs_count; ++k) {
    auto* to = static_cast<std::uint8_t*>(range.outputs[k]) + range.output_offset + at;
    for (int u = 0; u < kUnroll; ++u) access.store(values + u * L::kParts, to + u * L::kBytes);
  }
}

/// Less than a register, at either end; out of line to keep the code small.
template <class Op, class L, class Tuning>
HWY_NOINLINE void reduce_partial(const Range& range, const Tuning& tuning, std::size_t at, std::size_t bytes) {
  reduce_step<Op, L, 1>(range, Partial<L>{bytes}, tuning, at);
}

template <class Op, class L, class Tuning>
void reduce_plain(const Range& range, const Tuning& tuning) {
  constexpr int kUnroll = 4 / L::kParts;
  const std::size_t bytes = range.bytes;
  std::size_t at = 0;
  for (; at + kUnroll * L::kBytes <= bytes; at += kUnroll * L::kBytes) {
    reduce_step<Op, L, kUnroll>(range, Whole<L>(), tuning, at);
  }
  for (; at + L::kBytes <= bytes; at += L::kBytes) reduce_step<Op, L, 1>(range, Whole<L>(), tuning, at);
  if (at < bytes) reduce_partial<Op, L>(range, tuning, at, bytes - at);
}

/// Size of a block in bytes. Results that bypass the caches are computed block by block in the first-level cache and
/// then streamed to memory by a separate loop. A loop that combines and streams at once stores other data in between
/// (spilled registers), or has too much in flight to load far enough ahead. Measured: 0.65 to 0.9 of the memory
/// bandwidth, against 0.95 to 1. The loop that streams a block prefetches the inputs of the next.
inline constexpr std::size_t kBlock = 2048;

/// Copies a block to one output and prefetches the lines at `ahead`.
template <bool kStream>
HWY_INLINE void send(const std::uint8_t* HWY_RESTRICT block, std::uint8_t* to, std::size_t bytes,
                     const std::uint8_t* ahead) {
  using L = Lanes<std::uint8_t>;
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kStep = 2 * kLine;
  std::size_t at = 0;
  for (; at + kStep <= bytes; at += kStep) {
    for (std::size_t line = 0; line < kStep; line += kLine) hwy::Prefetch(ahead + at + line);
    for (std::size_t i = at; i < at + kStep; i += L::kBytes) {
      L::Vector value;
      L::load(block + i, &value);
      kStream ? L::stream(&value, to + i) : L::store(&value, to + i);
    }
  }
  std::memcpy(to + at, block + at, bytes - at);
}

/// Copies a block to all outputs and prefetches the inputs at byte `next`.
inline HWY_NOINLINE void distribute(const std::uint8_t* block, const Range& range, std::size_t next) {
  const auto ahead = [&](int k) {
    return static_cast<const std::uint8_t*>(range.inputs[std::min(k, range.sources - 1)]) + next;
  };
  for (int k = 0; k < range.outputs_count; ++k) {
    auto* to = static_cast<std::uint8_t*>(range.outputs[k]) + range.output_offset;
    const bool aligned = reinterpret_cast<std::uintptr_t>(to) % Lanes<std::uint8_t>::kBytes == 0;
    if (k < range.streamed_outputs && aligned)
      send<true>(block, to, range.bytes, ahead(k));
    else
      send<false>(block, to, range.bytes, ahead(k));
  }
  for (int k = range.outputs_count; k < range.sources; ++k) {
    for (std::size_t at = 0; at < range.bytes; at += 64) hwy::Prefetch(ahead(k) + at);
  }
}

/// Calls make(range) for one block after the other and distributes each block; the block is the only output of that
/// range. It lies in an output that stays in the cache, if there is one.
template <class Make>
HWY_INLINE void by_blocks(const Range& range, std::size_t element_bytes, const Make& make) {
  alignas(64) std::uint8_t block[kBlock];
  Range part = range;
  // `make` treats the block as an array of elements, but the caller's memory may not be aligned for them.
  const auto last = reinterpret_cast<std::uintptr_t>(range.outputs[range.outputs_count - 1]) + range.output_offset;
  const bool keeps = range.streamed_outputs < range.outputs_count && last % element_bytes == 0;
  if (keeps) --part.outputs_count;
  // Blocks begin at cache lines: a whole line leaves the core at once, a part would wait for the rest.
  const std::size_t head = (0 - reinterpret_cast<std::uintptr_t>(range.outputs[0])) % 64;
  part.bytes = head != 0 && head % element_bytes == 0 ? head : kBlock;
  for (std::size_t at = 0; at < range.bytes; at += part.bytes, part.bytes = kBlock) {
    part.bytes = std::min(part.bytes, range.bytes - at);
    part.output_offset = range.output_offset + at;
    void* const made =
        keeps ? static_cast<std::uint8_t*>(range.outputs[part.outputs_count]) + part.output_offset : block;
    make(Range{&made, 1, range.inputs, range.sources, part.bytes, 0, range.input_offset + at});
    distribute(static_cast<const std::uint8_t*>(made), part, range.input_offset + at + part.bytes);
  }
}

template <class Op, class L, class Tuning>
void reduce(const Range& range, const Tuning& tuning) {
  if (range.streamed_outputs == 0) return reduce_plain<Op, L>(range, tuning);
  by_blocks(range, L::kElementBytes, [&](const Range& block) HWY_ATTR { reduce_plain<Op, L>(block, tuning); });
}

}  // namespace HWY_NAMESPACE
}  // namespace tutti::host
HWY_AFTER_NAMESPACE();
#endif

#endif

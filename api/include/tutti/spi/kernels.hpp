#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tutti/data_type.hpp"
#include "tutti/export.hpp"
#include "tutti/reduction.hpp"

/// Element-wise kernels on host memory, vectorised for the widest unit of this CPU. Backends fetch a function pointer
/// once per operation and call it per chunk. All are thread-safe, allocate nothing and accept any alignment.
namespace tutti::spi {

/// What a reduction kernel does besides combining.
struct ReduceTuning {
  /// Every input is multiplied by this first (floating types only).
  double prescale = 1.0;
  /// The combined value is divided by this (`average`); integers truncate toward zero.
  std::uint64_t divisor = 1;
  /// So many outputs, from the first, are written with non-temporal stores: results larger than the cache.
  int streamed_outputs = 0;
};

/// The most outputs of one call of a kernel.
inline constexpr int kMostOutputs = 64;

/// Combines `sources` inputs, in the order given, into `outputs` identical results (up to kMostOutputs: a result may be
/// wanted in the user's buffer and in a shared slot at once, or in the buffer of every rank):
///   out[k][i] = (in[0][i] (+) in[1][i] (+) ... in[sources-1][i])
/// float16 and bfloat16 are accumulated in float32 and rounded once at the end. The result for an element depends only
/// on its inputs and their order, never on `count`, alignment or vector width. An output may be identical to an input.
using ReduceKernel = void (*)(void* const* outputs, int outputs_count, const void* const* inputs, int sources,
                              std::size_t count, const ReduceTuning& tuning);

/// The kernel for a reduction and type; null when is_defined() says the pair has no meaning. `average` is `sum` with
/// ReduceTuning::divisor, which the caller sets.
[[nodiscard]] TUTTI_API ReduceKernel reduce_kernel(Reduction reduction, DataType type) noexcept;

/// Multiplies in place by `factor` after dividing by `divisor`; what `average` and prescale need around a foreign
/// library. `factor` must be 1 for integers.
TUTTI_API void scale(void* data, std::size_t count, DataType type, double factor, std::uint64_t divisor) noexcept;

/// Converts between types of which at least one is float32 and the other float16 or bfloat16.
TUTTI_API void convert(void* to, DataType to_type, const void* from, DataType from_type, std::size_t count) noexcept;

/// Copies between places that do not overlap (or are the same); `streaming` writes with non-temporal stores and fences
/// before it returns.
TUTTI_API void copy(void* to, const void* from, std::size_t bytes, bool streaming) noexcept;

/// The instruction set the kernels were dispatched to on this machine: "AVX3", "AVX2", "SSE4", "portable", ...
[[nodiscard]] TUTTI_API std::string_view kernel_target() noexcept;

}  // namespace tutti::spi

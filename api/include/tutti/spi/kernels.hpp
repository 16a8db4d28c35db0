#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tutti/export.hpp"
#include "tutti/types/data_type.hpp"
#include "tutti/types/reduction.hpp"

/// Element-wise kernels on host memory, vectorised for the widest unit of this CPU. Backends fetch a function pointer
/// once per operation and call it per chunk. All are thread-safe, allocate nothing and accept any alignment.
namespace tutti::spi {

/// Options of a reduction kernel.
struct ReduceTuning {
  /// Factor for every input (floating-point types only).
  double prescale = 1.0;
  /// Divisor of the combined value (`average`); integers truncate toward zero.
  std::uint64_t divisor = 1;
  /// Number of outputs, counted from the first, that are written with non-temporal stores: for results larger than the
  /// cache.
  int streamed_outputs = 0;
};

/// Maximum number of outputs of one kernel call.
inline constexpr int kMostOutputs = 64;

/// Combines `sources` inputs, in the given order, into `outputs_count` identical results (up to kMostOutputs), e.g. in
/// the user's buffer and a shared slot, or in the buffers of all ranks:
///   out[k][i] = (in[0][i] (+) in[1][i] (+) ... in[sources-1][i])
/// Floats of 8 and 16 bits are accumulated in float32 and rounded once at the end. The result for an element depends
/// only on its inputs and their order, never on `count`, alignment or vector width. An output may be identical to an
/// input.
using ReduceKernel = void (*)(void* const* outputs, int outputs_count, const void* const* inputs, int sources,
                              std::size_t count, const ReduceTuning& tuning);

/// The kernel for a reduction and type; null if is_defined() is false for them. `average` is `sum` with
/// ReduceTuning::divisor, which the caller sets.
[[nodiscard]] TUTTI_API ReduceKernel reduce_kernel(Reduction reduction, DataType type) noexcept;

/// Divides by `divisor`, then multiplies by `factor`, in place: for `average` and prescale with a library that lacks
/// them. `factor` must be 1 for integers.
TUTTI_API void scale(void* data, std::size_t count, DataType type, double factor, std::uint64_t divisor) noexcept;

/// Converts between float32 and a float of 8 or 16 bits, in either direction.
TUTTI_API void convert(void* to, DataType to_type, const void* from, DataType from_type, std::size_t count) noexcept;

/// Copies between buffers that are disjoint or identical; `streaming` writes with non-temporal stores and fences before
/// it returns.
TUTTI_API void copy(void* to, const void* from, std::size_t bytes, bool streaming) noexcept;

/// Instruction set of the kernels on this machine: "AVX3", "AVX2", "SSE4", "portable", ...
[[nodiscard]] TUTTI_API std::string_view kernel_target() noexcept;

}  // namespace tutti::spi

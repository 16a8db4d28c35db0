#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tutti/spi/kernels.hpp"
#include "tutti/types/data_type.hpp"
#include "tutti/types/reduction.hpp"

namespace tutti::host {

/// All kernels of one instruction set. Kernels that have no meaning for a type are null.
///
/// Every table gives the same bits: a NaN result is always the canonical quiet NaN, `min` and `max` keep the first of
/// equal values, and nothing is contracted into fused operations.
struct KernelTable {
  using ScaleKernel = void (*)(void* data, std::size_t count, double factor, std::uint64_t divisor);
  using ConvertKernel = void (*)(void* to, const void* from, std::size_t count);
  using CopyKernel = void (*)(void* to, const void* from, std::size_t bytes);
  template <typename Kernel>
  using PerType = std::array<Kernel, kDataTypeCount>;

  std::string_view target;
  std::array<PerType<spi::ReduceKernel>, kReductionCount> reduce{};
  PerType<ScaleKernel> scale{};
  PerType<ConvertKernel> widen{};   ///< floats of 8 and 16 bits to float32
  PerType<ConvertKernel> narrow{};  ///< float32 to floats of 8 and 16 bits
  CopyKernel copy = nullptr;
  CopyKernel stream_copy = nullptr;  ///< with non-temporal stores

  [[nodiscard]] spi::ReduceKernel& at(Reduction reduction, DataType type) noexcept {
    return reduce[static_cast<std::size_t>(reduction)][static_cast<std::size_t>(type)];
  }
  [[nodiscard]] spi::ReduceKernel at(Reduction reduction, DataType type) const noexcept {
    return reduce[static_cast<std::size_t>(reduction)][static_cast<std::size_t>(type)];
  }
};

/// Plain loops, for CPUs without a usable vector unit and for builds without Highway.
[[nodiscard]] KernelTable portable_kernels() noexcept;

/// The kernels of the widest vector unit of this CPU.
[[nodiscard]] KernelTable best_kernels() noexcept;

/// Every table this CPU can run, widest first, the portable one last; lets tests and benchmarks compare them. Switches
/// the process-wide dispatch while it runs, so no other thread may request kernels for the first time meanwhile.
[[nodiscard]] std::vector<KernelTable> usable_kernels();

}  // namespace tutti::host

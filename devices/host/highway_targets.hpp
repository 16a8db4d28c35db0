#pragma once

#if defined(HIGHWAY_HWY_DETECT_TARGETS_H_)
#error "include highway_targets.hpp before any header of Highway"
#endif

// SSSE3 without SSE4.1 is gone from the field and only costs compile time. Vectors of unknown length cannot be members
// of arrays, which the kernels' register blocks are; CPUs with SVE run the NEON kernels.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

// Whether the target that is being compiled has vectors at all; where it has none, the portable kernels serve.
#define TUTTI_VECTOR_TARGET (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

#include "kernel_table.hpp"

namespace tutti::host {

/// Each source file of Highway kernels puts its part into the table, for the target that is chosen now. A target
/// without vectors adds nothing.
void add_integer_kernels(KernelTable& table) noexcept;
void add_floating_kernels(KernelTable& table) noexcept;

}  // namespace tutti::host

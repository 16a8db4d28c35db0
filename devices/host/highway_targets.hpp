#pragma once

#if defined(HIGHWAY_HWY_DETECT_TARGETS_H_)
#error "include highway_targets.hpp before any header of Highway"
#endif

// CPUs with SSSE3 but without SSE4.1 are no longer in use and only cost compile time. The kernels' register blocks are
// arrays, which vectors of unknown length cannot be members of; CPUs with SVE run the NEON kernels.
#define TUTTI_UNUSED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
// A sanitized build takes minutes per target. SSE2 and AVX2 have between them every branch of the kernels' own code;
// the code that Highway itself has for AVX-512 is then not sanitized.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HWY_DISABLED_TARGETS (TUTTI_UNUSED_TARGETS | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS TUTTI_UNUSED_TARGETS
#endif

// Whether the target that is being compiled has vectors; without vectors the portable kernels are used.
#define TUTTI_VECTOR_TARGET (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

#include "kernel_table.hpp"

namespace tutti::host {

/// Each function adds the kernels of one source file to the table, for the currently chosen target. A target without
/// vectors adds nothing.
void add_integer_kernels(KernelTable& table) noexcept;
void add_floating_kernels(KernelTable& table) noexcept;

}  // namespace tutti::host

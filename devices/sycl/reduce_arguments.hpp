#pragma once

#include <cstdint>

namespace tutti::sycl_kernels {

/// Arguments of a reduction kernel, passed by value. Read by the host's compiler and by the runtime's kernel compiler.
struct ReduceArguments {
  void* outputs[2];
  const void* inputs[64];
  std::uint64_t count;
  std::uint64_t divisor;
  std::uint64_t prescale64;  ///< the bits of a double, so that a device without float64 can take the structure
  float prescale32;
  std::uint32_t outputs_count;
  std::uint32_t sources;
};

}  // namespace tutti::sycl_kernels

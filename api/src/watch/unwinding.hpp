#pragma once

#include <cstdint>

namespace tutti {

/// The way of an exception that a signal handler throws.
enum class Unwinding : std::uint8_t {
  possible,
  /// A frame ends the process instead of letting the exception pass: code that the compiler took for code that does
  /// not throw.
  impossible,
  elsewhere,  ///< the frame is not on the stack of this thread
};
/// In a signal handler: the way from the interrupted instruction to the function with `frame`, an address within its
/// frame. Only where the thread holds no lock of the C library, see place_of().
[[nodiscard]] Unwinding unwinding_to(const void* frame) noexcept;

/// Place of an instruction.
enum class CodePlace : std::uint8_t {
  library,  ///< a shared library that is not part of the C and C++ run time nor of tutti
  waiting,  ///< the system call of a function of the C library that waits and holds no lock
  other,
};
[[nodiscard]] CodePlace place_of(const void* instruction) noexcept;

}  // namespace tutti

#pragma once

#include <cstdint>

namespace tutti {

/// In a signal handler: whether an exception that the handler throws reaches the frame that contains `object`, which is
/// on the stack of this thread. The exception may meet a frame that ends the process instead of letting it pass: code
/// that the compiler took for code that does not throw.
[[nodiscard]] bool can_unwind_to(const void* object) noexcept;

/// Place of an instruction.
enum class CodePlace : std::uint8_t {
  library,  ///< a shared library that is not part of the C and C++ run time nor of tutti
  waiting,  ///< the system call of a function of the C library that waits and holds no lock
  other,
};
[[nodiscard]] CodePlace place_of(const void* instruction) noexcept;

}  // namespace tutti

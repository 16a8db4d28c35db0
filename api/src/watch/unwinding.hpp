#pragma once

#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tutti {

/// The way of a thread out of a library: registers with which it goes on in the function that called the library, as if
/// the library had called another function from there. The frames of the library are left as they are: their
/// destructors would free memory that the library's other objects, interrupted anywhere, still point to.
struct WayOut {
#if defined(__aarch64__)
  static constexpr std::size_t kSaved = 11;  // x19 to x29
#else
  static constexpr std::size_t kSaved = 6;  // rbx, rbp, r12 to r15
#endif
  std::uintptr_t instruction = 0;  ///< behind the call of the library
  std::uintptr_t stack = 0;        ///< stack pointer at the call
  std::array<std::uintptr_t, kSaved> saved{};
  std::array<std::uint64_t, 8> saved_floating{};  ///< AArch64: low halves of v8 to v15

  /// Changes the registers so that the thread calls `function` when its signal handler returns.
  void take(ucontext_t& context, void (*function)()) const noexcept;
};

/// In a signal handler: the way from the interrupted instruction to the innermost function of tutti or of the program,
/// where the function with `frame`, an address within its frame, is that one or further out. Nothing where it is not on
/// the stack of this thread, or where a function between them may hold a lock. Only where the thread holds no lock of
/// the C library, see place_of().
[[nodiscard]] std::optional<WayOut> way_out(const void* frame) noexcept;

/// Place of an instruction.
enum class CodePlace : std::uint8_t {
  library,  ///< a shared library that is not part of the C and C++ run time nor of tutti
  waiting,  ///< the system call of a function of the C library that waits, and as far as is known holds no lock
  other,
};
[[nodiscard]] CodePlace place_of(const void* instruction) noexcept;

/// The interrupted instruction.
[[nodiscard]] const void* instruction_of(const ucontext_t& context) noexcept;

}  // namespace tutti

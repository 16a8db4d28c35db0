#pragma once

namespace tutti::profiling {

/// Tells a program's call of a library from calls that the library makes of itself in the course of it. One object on
/// the stack of each wrapper, for as long as the real function runs. `Source`: any type that belongs to the source.
template <typename Source>
class OutermostCall {
 public:
  OutermostCall() noexcept : is_outermost_(depth++ == 0) {}
  ~OutermostCall() { --depth; }
  OutermostCall(const OutermostCall&) = delete;
  OutermostCall& operator=(const OutermostCall&) = delete;

  /// True for the call that came from outside, on this thread.
  [[nodiscard]] explicit operator bool() const noexcept { return is_outermost_; }
  /// Whether this thread is inside a call of the source now.
  [[nodiscard]] static bool is_inside() noexcept { return depth > 0; }

 private:
  static inline constinit thread_local int depth = 0;
  bool is_outermost_;
};

}  // namespace tutti::profiling

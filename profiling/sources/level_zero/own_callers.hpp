#pragma once

/// Calls that tutti itself makes of Level Zero, which its observer reports. The callbacks of a tracer do not see their
/// caller, so that the thread's stack is searched, and only in a program that has loaded tutti's device.
namespace tutti::profiling::ze {

/// Notes whether tutti's device for Level Zero is loaded; it initialises Level Zero before it calls anything else.
void look_for_own_callers() noexcept;

[[nodiscard]] bool is_called_by_tutti() noexcept;

}  // namespace tutti::profiling::ze

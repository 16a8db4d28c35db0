#pragma once

#include <string_view>

namespace tutti::test {

/// After `seconds`, prints the current activity and ends the process with exit code 3.
void arm_watchdog(unsigned seconds);

/// Sets the current activity for that message. Long texts are cut.
void set_activity(std::string_view text) noexcept;

}  // namespace tutti::test

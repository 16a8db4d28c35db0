#pragma once

#include <string_view>

namespace tutti::test {

/// Ends the process with exit code 3 and a message that says what it was doing, unless it ends by itself before.
void arm_watchdog(unsigned seconds);

/// What this process is doing, for that message. Long texts are cut.
void set_activity(std::string_view text) noexcept;

}  // namespace tutti::test

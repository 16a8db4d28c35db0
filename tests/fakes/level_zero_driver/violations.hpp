#pragma once

#include <level_zero/ze_api.h>

#include <string>

namespace fake_level_zero {

/// Notes that the program did what a real device would punish, and returns `code` for the call that did it.
ze_result_t violation(ze_result_t code, const std::string& text);

}  // namespace fake_level_zero

#pragma once

#include <level_zero/ze_api.h>

#include <string>

namespace fake_level_zero {

/// Records a mistake of the program that fails on a real device; returns `code` for the call.
ze_result_t violation(ze_result_t code, const std::string& text);

}  // namespace fake_level_zero

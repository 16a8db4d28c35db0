#pragma once

#include <string_view>

namespace tutti::profiling {

/// Owner of records of how much memory is in use on a device, whoever allocated it. It holds other owners' memory once
/// more, so that tables which add up owners leave it out.
inline constexpr std::string_view kUsedOnDevice = "in use on the device";

}  // namespace tutti::profiling

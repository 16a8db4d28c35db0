#pragma once

#include <string_view>

namespace tutti::sycl_device {

/// reduce_kernels.hpp with what it needs, for the kernel compiler; made by CMake.
extern const std::string_view kReduceSource;

}  // namespace tutti::sycl_device

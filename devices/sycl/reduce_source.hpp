#pragma once

#include <string_view>

namespace tutti::sycl_device {

/// Text of reduce_kernels.hpp and the headers it needs, for the kernel compiler; made by CMake.
extern const std::string_view kReduceSource;

}  // namespace tutti::sycl_device

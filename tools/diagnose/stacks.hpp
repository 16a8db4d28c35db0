#pragma once

#include <cstdint>
#include <string>

namespace tutti::tools {

/// Stack of a thread of another process, by gdb or eu-stack where one of them is installed. Otherwise the place in the
/// kernel where the thread waits, and how to get more. Stops the process for a moment.
[[nodiscard]] std::string thread_stack(std::int64_t pid, std::uint32_t thread);

}  // namespace tutti::tools

#pragma once

#include <cstdint>

namespace tutti::test {

/// Number of calls of operator new in this process. The program must link tutti_test_allocation_counter, which replaces
/// operator new.
[[nodiscard]] std::uint64_t allocation_count() noexcept;

}  // namespace tutti::test

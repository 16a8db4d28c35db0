#pragma once

#include <cstdint>

namespace tutti::test {

/// How often operator new was called in this process; counted in programs that link tutti_test_allocation_counter,
/// which replaces it.
[[nodiscard]] std::uint64_t allocation_count() noexcept;

}  // namespace tutti::test

#pragma once

#include <string>
#include <string_view>

namespace tutti::test {

/// Whether the target is native, the fake device "threaded", or named in TUTTI_REQUIRE_BACKENDS, a comma-separated list
/// of backends and devices with '-' or ':' between their words. A test that cannot run without a required target fails
/// instead of being skipped.
[[nodiscard]] bool is_required(std::string_view target);

/// "mpi:intel is not usable: ...", and for a required target the reason why that is a failure.
[[nodiscard]] std::string absence(std::string_view target, std::string_view reason);

}  // namespace tutti::test

/// Ends the current test: skipped with the reason, or failed when the target is required.
#define TUTTI_SKIP_OR_FAIL(target, reason)                    \
  do {                                                        \
    if (::tutti::test::is_required(target)) {                 \
      FAIL() << ::tutti::test::absence(target, reason);       \
    } else {                                                  \
      GTEST_SKIP() << ::tutti::test::absence(target, reason); \
    }                                                         \
  } while (false)

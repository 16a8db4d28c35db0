#pragma once

#include <string>
#include <string_view>

namespace tutti::test {

/// Whether TUTTI_REQUIRE_BACKENDS, a comma-separated list of launch targets and devices, names this one, or it is
/// native. A test that cannot run for lack of such a one fails instead of being skipped.
[[nodiscard]] bool is_required(std::string_view target);

/// "mpi-intel is not usable: ..." with a word on why that is a failure where it is one.
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

#pragma once

namespace tutti::test::campaign {

/// Runs jobs on backends that fail on purpose. Returns 0 if each of them got the verdict that belongs to its failure.
[[nodiscard]] int self_test(bool is_verbose);

}  // namespace tutti::test::campaign

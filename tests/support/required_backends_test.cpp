// The build must contain the tests of each backend in TUTTI_REQUIRE_BACKENDS: ctest does not show a test that was never
// built, not even as skipped.
#include "support/required_backends.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

namespace tutti::test {
namespace {

/// Missing tests by backend, parsed from "name test test|name|...".
std::map<std::string, std::string> missing_tests() {
  std::map<std::string, std::string> rows;
  std::istringstream text(TUTTI_TEST_REQUIRED_ROWS);
  for (std::string row; std::getline(text, row, '|');) {
    const std::size_t end = std::min(row.find(' '), row.size());
    rows[row.substr(0, end)] = row.substr(end);
  }
  return rows;
}

TEST(RequiredBackends, HaveTheirTests) {
  const char* list = std::getenv("TUTTI_REQUIRE_BACKENDS");
  std::istringstream names(list == nullptr ? "native" : list);
  const auto missing = missing_tests();
  for (std::string name; std::getline(names, name, ',');) {
    std::ranges::replace(name, ':', '-');
    const auto row = missing.find(name);
    if (row == missing.end()) {
      ADD_FAILURE() << "TUTTI_REQUIRE_BACKENDS names '" << name << "', but tests/CMakeLists.txt lists no tests for it";
    } else {
      EXPECT_EQ(row->second, "") << absence(name, "these tests were not built");
    }
  }
}

}  // namespace
}  // namespace tutti::test

#include "base/table.hpp"

#include <gtest/gtest.h>

namespace tutti::base {
namespace {

Table numbers() {
  Table table({{"key"}, {"first", Align::right}, {"empty", Align::right}, {"second", Align::right}, {"third"}});
  table.add({"a", "1", "", "22", "x"});
  table.add({"bb", "333", "", "4", "y"});
  return table;
}

TEST(Table, ThatFitsIsOnePartWithoutEmptyColumns) {
  EXPECT_EQ(numbers().render_parts(Style(), 80, 1),
            "  key  first  second  third\n"
            "  ---  -----  ------  -----\n"
            "  a        1      22  x\n"
            "  bb     333       4  y\n");
}

TEST(Table, ThatIsTooWideIsPrintedInPartsThatRepeatTheKeys) {
  EXPECT_EQ(numbers().render_parts(Style(), 20, 1),
            "  key  first  second\n"
            "  ---  -----  ------\n"
            "  a        1      22\n"
            "  bb     333       4\n"
            "\n"
            "  key  third\n"
            "  ---  -----\n"
            "  a    x\n"
            "  bb   y\n");
}

TEST(Table, PartsHaveAtLeastOneColumnEach) {
  EXPECT_EQ(numbers().render_parts(Style(), 1, 1),
            "  key  first\n  ---  -----\n  a        1\n  bb     333\n\n"
            "  key  second\n  ---  ------\n  a        22\n  bb        4\n\n"
            "  key  third\n  ---  -----\n  a    x\n  bb   y\n");
}

TEST(Table, GroupsOfColumnsAreNotSplit) {
  EXPECT_EQ(numbers().render_parts(Style(), 20, 1, 2),
            "  key  first\n  ---  -----\n  a        1\n  bb     333\n\n"
            "  key  second  third\n  ---  ------  -----\n  a        22  x\n  bb        4  y\n");
}

TEST(Table, OfKeysOnly) {
  Table table({{"key"}, {"value"}});
  table.add({"a", ""});
  EXPECT_EQ(table.render_parts(Style(), 80, 1), "  key\n  ---\n  a\n");
}

TEST(Style, IsOffUnlessAskedFor) {
  EXPECT_EQ(Style().bold("x"), "x");
  EXPECT_EQ(Style(true).bold("x"), "\033[1mx\033[0m");
  EXPECT_EQ(Style(true).coloured(7, "x"), Style(true).coloured(1, "x"));
}

}  // namespace
}  // namespace tutti::base

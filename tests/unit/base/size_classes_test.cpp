#include "base/size_classes.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tutti::base {
namespace {

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;

TEST(SizeClasses, HaveTheBoundsOfTheTables) {
  const auto name = [](std::uint64_t bytes) { return name_of_class(size_class(bytes)); };
  EXPECT_EQ(name(1), "(0, 1KB]");
  EXPECT_EQ(name(1024), "(0, 1KB]");
  EXPECT_EQ(name(1025), "(1KB, 1MB]");
  EXPECT_EQ(name(kMegabyte), "(1KB, 1MB]");
  EXPECT_EQ(name(kMegabyte + 1), "(1MB, 10MB]");
  EXPECT_EQ(name(10 * kMegabyte), "(1MB, 10MB]");
  EXPECT_EQ(name(10 * kMegabyte + 1), "(10MB, 20MB]");
  EXPECT_EQ(name(64 * kMegabyte), "(60MB, 70MB]");
  EXPECT_EQ(name(100 * kMegabyte), "(90MB, 100MB]");
  EXPECT_EQ(name(100 * kMegabyte + 1), "(100MB, 150MB]");
  EXPECT_EQ(name(392 * kMegabyte), "(350MB, 400MB]");
  EXPECT_EQ(name(400 * kMegabyte), "(350MB, 400MB]");
}

TEST(SizeClasses, AreWithoutGapsAndOverlaps) {
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    const SizeBounds bounds = bounds_of_class(i);
    EXPECT_EQ(bounds.above, end);
    EXPECT_EQ(size_class(bounds.above + 1), i);
    EXPECT_EQ(size_class(bounds.up_to), i);
    end = bounds.up_to;
  }
}

TEST(SizeClasses, HistogramsKeepFilledClassesOnly) {
  SizeHistogram histogram;
  add_operations(histogram, 100, 3, 30);
  add_operations(histogram, 200, 1, 5);
  add_operations(histogram, 20 * kMegabyte, 0, 0);
  ASSERT_EQ(histogram.size(), 1u);
  EXPECT_EQ(histogram.begin()->second.count, 4u);
  EXPECT_EQ(histogram.begin()->second.bytes, 500u);
  EXPECT_EQ(histogram.begin()->second.time_us, 35);
}

}  // namespace
}  // namespace tutti::base

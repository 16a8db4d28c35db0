#include "base/tally_units.hpp"

#include <gtest/gtest.h>

namespace tutti::base {
namespace {

TEST(TallyUnits, AreTheLargestOfWhichThereIsOne) {
  EXPECT_EQ(in_tally_units(std::uint64_t{0}, kTallyTimeUnits), "0ns");
  EXPECT_EQ(in_tally_units(std::uint64_t{999}, kTallyTimeUnits), "999ns");
  EXPECT_EQ(in_tally_units(std::uint64_t{304'390'000}, kTallyTimeUnits), "304.39ms");
  EXPECT_EQ(in_tally_units(std::uint64_t{111'000'000'000}, kTallyTimeUnits), "1.85min");
  EXPECT_EQ(in_tally_units(std::uint64_t{7'050'000'000}, kTallyByteUnits), "7.05GB");
  EXPECT_EQ(in_tally_units(12.5, kTallyByteUnits), "12.50B");
}

TEST(TallyUnits, AreReadBack) {
  EXPECT_DOUBLE_EQ(parse_tally_units("1.85min", kTallyTimeUnits).value(), 1.11e11);
  EXPECT_DOUBLE_EQ(parse_tally_units("753.75ms", kTallyTimeUnits).value(), 7.5375e8);
  EXPECT_DOUBLE_EQ(parse_tally_units("595.59MB", kTallyByteUnits).value(), 5.9559e8);
  EXPECT_DOUBLE_EQ(parse_tally_units("0ns", kTallyTimeUnits).value(), 0);
}

TEST(TallyUnits, RefuseOtherTexts) {
  for (const char* text : {"", "s", "1", "1.04 s", "-1s", "1.04GB", "nans", "1e3s", "1.04sx", "infs"}) {
    EXPECT_FALSE(parse_tally_units(text, kTallyTimeUnits).has_value()) << text;
  }
}

}  // namespace
}  // namespace tutti::base

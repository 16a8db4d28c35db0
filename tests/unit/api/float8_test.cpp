#include "tutti/types/float8.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tutti {
namespace {

static_assert(float(float8_e4m3(1.5F)) == 1.5F);
static_assert(float(float8_e5m2(-1.75F)) == -1.75F);
static_assert(float8_e4m3(1000.0F).bits == 0x7E && float8_e5m2(1e6F).bits == 0x7B);

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename Float8>
struct Layout;
template <>
struct Layout<float8_e4m3> {
  static constexpr int kLargest = 0x7E, kMantissaBits = 3, kBias = 7;
  static constexpr double kLargestValue = 448;
  static constexpr bool kHasInfinity = false;
};
template <>
struct Layout<float8_e5m2> {
  static constexpr int kLargest = 0x7B, kMantissaBits = 2, kBias = 15;
  static constexpr double kLargestValue = 57344;
  static constexpr bool kHasInfinity = true;
};

/// Of a code without its sign.
template <typename Float8>
double value_of(int code) {
  using L = Layout<Float8>;
  const int exponent = code >> L::kMantissaBits;
  const int mantissa = code & ((1 << L::kMantissaBits) - 1);
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << L::kMantissaBits);
  return std::ldexp(whole, (exponent == 0 ? 1 : exponent) - L::kBias - L::kMantissaBits);
}

template <typename Float8>
int code_of(float value) {
  return Float8(value).bits;
}

template <typename Float8>
class Float8Test : public testing::Test {};
using Float8Types = testing::Types<float8_e4m3, float8_e5m2>;
TYPED_TEST_SUITE(Float8Test, Float8Types);

TYPED_TEST(Float8Test, EveryCodeHasItsValueAndSurvivesTheRoundTrip) {
  using L = Layout<TypeParam>;
  EXPECT_EQ(value_of<TypeParam>(L::kLargest), L::kLargestValue);
  for (int code = 0; code < 0x100; ++code) {
    const auto wide = static_cast<float>(TypeParam::from_bits(static_cast<std::uint8_t>(code)));
    const int magnitude = code & 0x7F;
    EXPECT_EQ(std::signbit(wide), code >= 0x80) << code;
    if (magnitude <= L::kLargest) {
      EXPECT_EQ(std::abs(static_cast<double>(wide)), value_of<TypeParam>(magnitude)) << code;
      EXPECT_EQ(code_of<TypeParam>(wide), code);
    } else if (L::kHasInfinity && magnitude == L::kLargest + 1) {
      EXPECT_TRUE(std::isinf(wide)) << code;
      EXPECT_EQ(code_of<TypeParam>(wide), code);
    } else {
      EXPECT_TRUE(std::isnan(wide)) << code;
      EXPECT_EQ(code_of<TypeParam>(wide), code | 0x7F);
    }
  }
}

// For each pair of neighbours: a value below the middle, the middle, and a value above the middle.
TYPED_TEST(Float8Test, RoundsToNearestAndTiesToEven) {
  for (int code = 0; code < Layout<TypeParam>::kLargest; ++code) {
    const auto middle = static_cast<float>((value_of<TypeParam>(code) + value_of<TypeParam>(code + 1)) / 2);
    for (const float sign : {1.0F, -1.0F}) {
      const int mark = sign < 0 ? 0x80 : 0;
      EXPECT_EQ(code_of<TypeParam>(sign * middle), mark | (code + (code & 1)));
      EXPECT_EQ(code_of<TypeParam>(sign * std::nextafter(middle, 0.0F)), mark | code);
      EXPECT_EQ(code_of<TypeParam>(sign * std::nextafter(middle, kInfinity)), mark | (code + 1));
    }
  }
}

TYPED_TEST(Float8Test, TooLargeValuesBecomeTheLargest) {
  using L = Layout<TypeParam>;
  const auto largest = static_cast<float>(L::kLargestValue);
  for (const float value : {largest, std::nextafter(largest, kInfinity), 1.04F * largest, 1.07F * largest,
                            1.25F * largest, 2 * largest, 1e30F, std::numeric_limits<float>::max()}) {
    EXPECT_EQ(code_of<TypeParam>(value), L::kLargest) << value;
    EXPECT_EQ(code_of<TypeParam>(-value), L::kLargest | 0x80) << value;
  }
  EXPECT_EQ(code_of<TypeParam>(kInfinity), L::kLargest + (L::kHasInfinity ? 1 : 0));
  EXPECT_EQ(code_of<TypeParam>(-kInfinity), (L::kLargest + (L::kHasInfinity ? 1 : 0)) | 0x80);
}

TYPED_TEST(Float8Test, TinyFloatsBecomeZeroOfTheirSign) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(code_of<TypeParam>(tiny), 0);
  EXPECT_EQ(code_of<TypeParam>(-tiny), 0x80);
  EXPECT_EQ(code_of<TypeParam>(-0.0F), 0x80);
}

TYPED_TEST(Float8Test, EveryNaNStaysANaN) {
  for (const std::uint32_t word : {0x7F800001u, 0xFF800001u, 0x7FC00000u, 0x7FFFFFFFu}) {
    EXPECT_EQ(code_of<TypeParam>(std::bit_cast<float>(word)), word >> 31 != 0 ? 0xFF : 0x7F) << word;
  }
}

// Of floats of all magnitudes: the nearest number, found by comparing with all of them.
TYPED_TEST(Float8Test, FloatsOfAllMagnitudesGoToTheNearestNumber) {
  using L = Layout<TypeParam>;
  // The stride is coprime to 2^31 and visits every exponent and all low bits.
  for (std::uint64_t word = 0; word < 0x7F800000u; word += 10007) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(word));
    const int code = code_of<TypeParam>(value);
    ASSERT_LE(code, L::kLargest);
    const auto distance = [&](int other) { return std::abs(static_cast<double>(value) - value_of<TypeParam>(other)); };
    ASSERT_LE(distance(code), distance(std::max(code - 1, 0))) << value;
    ASSERT_LE(distance(code), distance(std::min(code + 1, int{L::kLargest}))) << value;
    ASSERT_EQ(code_of<TypeParam>(-value), code | 0x80) << value;
  }
}

}  // namespace
}  // namespace tutti

#include "tutti/types/half.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tutti {
namespace {

static_assert(float(float16(1.5F)) == 1.5F);
static_assert(float(bfloat16(-2.0F)) == -2.0F);
static_assert(float16(65520.0F).bits == 0x7C00);

constexpr std::uint32_t kPatterns = 0x10000;

template <typename Half>
struct Layout;
template <>
struct Layout<float16> {
  static constexpr std::uint16_t kInfinity = 0x7C00, kQuiet = 0x0200;
  static constexpr int kMantissaBits = 10, kBias = 15;
};
template <>
struct Layout<bfloat16> {
  static constexpr std::uint16_t kInfinity = 0x7F80, kQuiet = 0x0040;
  static constexpr int kMantissaBits = 7, kBias = 127;
};

template <typename Half>
double value_of(std::uint16_t bits) {
  using L = Layout<Half>;
  const int exponent = (bits & 0x7FFF) >> L::kMantissaBits;
  const int mantissa = bits & ((1 << L::kMantissaBits) - 1);
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << L::kMantissaBits);
  const double magnitude = std::ldexp(whole, (exponent == 0 ? 1 : exponent) - L::kBias - L::kMantissaBits);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

template <typename Half>
class HalfTest : public testing::Test {};
using Halves = testing::Types<float16, bfloat16>;
TYPED_TEST_SUITE(HalfTest, Halves);

TYPED_TEST(HalfTest, EveryPatternHasItsValueAndSurvivesTheRoundTrip) {
  using L = Layout<TypeParam>;
  for (std::uint32_t pattern = 0; pattern < kPatterns; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const auto wide = static_cast<float>(TypeParam::from_bits(bits));
    const std::uint16_t magnitude = bits & 0x7FFF;
    if (magnitude > L::kInfinity) {
      ASSERT_TRUE(std::isnan(wide)) << pattern;
      ASSERT_EQ(TypeParam(wide).bits, bits | L::kQuiet);
      continue;
    }
    if (magnitude == L::kInfinity)
      ASSERT_TRUE(std::isinf(wide)) << pattern;
    else
      ASSERT_EQ(static_cast<double>(wide), value_of<TypeParam>(bits)) << pattern;
    ASSERT_EQ(std::signbit(wide), (bits & 0x8000) != 0) << pattern;
    ASSERT_EQ(TypeParam(wide).bits, bits);
  }
}

// For each pair of neighbours: a value below the middle, the middle, and a value above the middle.
TYPED_TEST(HalfTest, RoundsToNearestAndTiesToEven) {
  using L = Layout<TypeParam>;
  for (std::uint16_t bits = 0; bits + 1 < L::kInfinity; ++bits) {
    const double low = value_of<TypeParam>(bits);
    const double high = value_of<TypeParam>(static_cast<std::uint16_t>(bits + 1));
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(static_cast<double>(middle), (low + high) / 2);
    const auto even = static_cast<std::uint16_t>(bits + (bits & 1));
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float sign : {1.0F, -1.0F}) {
      const std::uint16_t mark = sign < 0 ? 0x8000 : 0;
      ASSERT_EQ(TypeParam(sign * middle).bits, mark | even);
      ASSERT_EQ(TypeParam(sign * std::nextafter(middle, 0.0F)).bits, mark | bits);
      ASSERT_EQ(TypeParam(sign * std::nextafter(middle, infinity)).bits, mark | (bits + 1));
    }
  }
}

TYPED_TEST(HalfTest, OverflowsToInfinityFromHalfAStepAboveTheLargest) {
  using L = Layout<TypeParam>;
  const auto largest = static_cast<std::uint16_t>(L::kInfinity - 1);
  const double step = value_of<TypeParam>(largest) - value_of<TypeParam>(static_cast<std::uint16_t>(largest - 1));
  const auto limit = static_cast<float>(value_of<TypeParam>(largest) + step / 2);
  EXPECT_EQ(TypeParam(limit).bits, L::kInfinity);
  EXPECT_EQ(TypeParam(-limit).bits, L::kInfinity | 0x8000);
  EXPECT_EQ(TypeParam(std::nextafter(limit, 0.0F)).bits, largest);
  EXPECT_EQ(TypeParam(std::numeric_limits<float>::infinity()).bits, L::kInfinity);
}

TYPED_TEST(HalfTest, TinyFloatsBecomeZeroOfTheirSign) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(TypeParam(tiny).bits, 0);
  EXPECT_EQ(TypeParam(-tiny).bits, 0x8000);
}

TYPED_TEST(HalfTest, ANaNWhosePayloadDoesNotFitStaysANaN) {
  for (const std::uint32_t word : {0x7F800001u, 0xFF800001u, 0x7FC00000u, 0x7FFFFFFFu}) {
    EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(std::bit_cast<float>(word))))) << word;
  }
}

#if defined(__x86_64__)
__attribute__((target("f16c"))) std::uint16_t hardware_round(float value) {
  return static_cast<std::uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
}
__attribute__((target("f16c"))) std::uint32_t hardware_widen(std::uint16_t bits) {
  return std::bit_cast<std::uint32_t>(_cvtsh_ss(bits));
}

TEST(Float16, AgreesWithTheHardware) {
  if (!__builtin_cpu_supports("f16c")) GTEST_SKIP() << "this CPU has no F16C";
  for (std::uint32_t pattern = 0; pattern < kPatterns; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const auto wide = static_cast<float>(float16::from_bits(bits));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide), hardware_widen(bits)) << pattern;
  }
  // A stride that is coprime to 2^32 visits every exponent and all low bits.
  for (std::uint64_t word = 0; word < (std::uint64_t{1} << 32); word += 211) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(word));
    ASSERT_EQ(float16(value).bits, hardware_round(value)) << word;
  }
}
#endif

}  // namespace
}  // namespace tutti

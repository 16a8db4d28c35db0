#include "arithmetic/compression.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tutti::horovod {
namespace {

/// A float64 rounded to a type with `digits` bits of mantissa, in the way of the textbook.
double rounded(double value, int digits, int least_exponent) {
  int exponent = 0;
  (void)std::frexp(value, &exponent);
  const double step = std::ldexp(1.0, std::max(exponent - digits, least_exponent));
  return std::nearbyint(value / step) * step;
}

template <typename Half>
std::vector<double> round_trip(const std::vector<double>& values, Compression compression) {
  std::vector<Half> wire(values.size());
  std::vector<double> back(values.size());
  const DataType type = wire_type(DataType::float64, compression);
  compress(wire.data(), type, values.data(), DataType::float64, values.size());
  decompress(back.data(), DataType::float64, wire.data(), type, values.size());
  return back;
}

std::vector<double> random_values(std::size_t count) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> mantissa(-2, 2);
  std::uniform_int_distribution<int> exponent(-20, 13);
  std::vector<double> values(count);
  for (double& value : values) value = std::ldexp(mantissa(random), exponent(random));
  return values;
}

TEST(Compression, OnlyFloat32AndFloat64Shrink) {
  for (const DataType type : kDataTypes) {
    const bool shrinks = type == DataType::float32 || type == DataType::float64;
    EXPECT_EQ(wire_type(type, Compression::none), type);
    EXPECT_EQ(wire_type(type, Compression::float16), shrinks ? DataType::float16 : type);
    EXPECT_EQ(wire_type(type, Compression::bfloat16), shrinks ? DataType::bfloat16 : type);
  }
}

TEST(Compression, RoundsFloat64Once) {
  // In the middle between two float16 but for a bit that float32 has no room for.
  const double above = 1.0 + 0x1p-11 + 0x1p-40;
  const double below = 1.0 + 3 * 0x1p-11 - 0x1p-40;
  EXPECT_EQ(round_trip<float16>({above, below, -above, -below}, Compression::float16),
            (std::vector<double>{1 + 0x1p-10, 1 + 0x1p-10, -1 - 0x1p-10, -1 - 0x1p-10}));
  EXPECT_EQ(round_trip<bfloat16>({1.0 + 0x1p-8 + 0x1p-40}, Compression::bfloat16), (std::vector<double>{1 + 0x1p-7}));
  const std::vector<double> values = random_values(5000);
  const std::vector<double> half = round_trip<float16>(values, Compression::float16);
  const std::vector<double> brain = round_trip<bfloat16>(values, Compression::bfloat16);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(half[i], rounded(values[i], 11, -24)) << values[i];
    ASSERT_EQ(brain[i], rounded(values[i], 8, -133)) << values[i];
  }
}

TEST(Compression, Float32GivesTheSameAsFloat64) {
  std::vector<double> values = random_values(3001);
  std::vector<float> singles(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = singles[i] = static_cast<float>(values[i]);
  for (const Compression compression : {Compression::float16, Compression::bfloat16}) {
    const DataType type = wire_type(DataType::float32, compression);
    std::vector<std::uint16_t> from_float(values.size());
    std::vector<std::uint16_t> from_double(values.size());
    compress(from_float.data(), type, singles.data(), DataType::float32, values.size());
    compress(from_double.data(), type, values.data(), DataType::float64, values.size());
    EXPECT_EQ(from_float, from_double) << static_cast<int>(compression);
    std::vector<float> back(values.size());
    std::vector<double> back_wide(values.size());
    decompress(back.data(), DataType::float32, from_float.data(), type, values.size());
    decompress(back_wide.data(), DataType::float64, from_double.data(), type, values.size());
    EXPECT_EQ(std::vector<double>(back.begin(), back.end()), back_wide) << static_cast<int>(compression);
  }
}

TEST(Compression, ExtremesStayExtremes) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto half =
      round_trip<float16>({65504, 65519.999, 65520, 1e300, -1e300, 0x1p-24, 0x1p-26, -0.0}, Compression::float16);
  EXPECT_EQ(half, (std::vector<double>{65504, 65504, kInfinity, kInfinity, -kInfinity, 0x1p-24, 0, 0}));
  EXPECT_TRUE(std::signbit(half.back()));
  EXPECT_TRUE(std::isnan(round_trip<float16>({std::nan("")}, Compression::float16).front()));
  // The next float32 is infinite, the next bfloat16 is the largest one or infinite.
  const double largest = 0x1.FEp127;
  EXPECT_EQ(round_trip<bfloat16>({3.4028235677973366e38, largest, 1e300}, Compression::bfloat16),
            (std::vector<double>{kInfinity, largest, kInfinity}));
}

TEST(Compression, EqualTypesAreCopied) {
  const std::vector<int> values = {1, -2, 3};
  std::vector<int> wire(3);
  std::vector<int> back(3);
  compress(wire.data(), DataType::int32, values.data(), DataType::int32, 3);
  decompress(back.data(), DataType::int32, wire.data(), DataType::int32, 3);
  EXPECT_EQ(back, values);
  compress(nullptr, DataType::float16, nullptr, DataType::float64, 0);
}

}  // namespace
}  // namespace tutti::horovod

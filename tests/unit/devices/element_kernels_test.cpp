// The kernels other than reductions (scale, convert, copy), and the choice of the kernel table.

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "kernels_test_support.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::kernels_test {
namespace {

class ElementKernelTest : public testing::TestWithParam<DataType> {};

TEST_P(ElementKernelTest, ScaleDividesThenMultiplies) {
  for_each_table(GetParam(), []<typename T>(const KernelTable& table) {
    using A = Wide<T>;
    const auto inputs = random_inputs<T>(5)[0];
    for (double factor : {1.0, 0.3}) {
      if (factor != 1.0 && std::is_integral_v<A>) continue;
      for (std::uint64_t divisor : {1, 2, 3, 300, 100'000}) {
        std::vector<T> expected(kLargest);
        for (std::size_t i = 0; i < kLargest; ++i) {
          A value = divide(static_cast<A>(inputs[i]), divisor);
          if constexpr (std::is_floating_point_v<A>) value *= static_cast<A>(factor);
          expected[i] = static_cast<T>(value != value ? std::numeric_limits<A>::quiet_NaN() : value);
        }
        for (std::size_t count : kCounts) {
          Placed data(count * sizeof(T), count % 7);
          data.fill(inputs);
          if (count != 0) table.scale[static_cast<std::size_t>(kDataTypeOf<T>)](data.data(), count, factor, divisor);
          expect_bits(expected, data.data(), count);
          EXPECT_TRUE(data.guards_intact());
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(AllTypes, ElementKernelTest, testing::ValuesIn(kDataTypes),
                         [](const auto& param_info) { return std::string(name(param_info.param)); });

template <typename Narrow>
class ConvertTest : public testing::Test {};
using NarrowFloats = testing::Types<float16, bfloat16, float8_e4m3, float8_e5m2>;
TYPED_TEST_SUITE(ConvertTest, NarrowFloats);

TYPED_TEST(ConvertTest, WidensEveryPatternAsTheScalarTypeDoes) {
  constexpr std::size_t kPatterns = std::size_t{1} << 8 * sizeof(TypeParam);
  std::vector<TypeParam> narrow(kPatterns);
  std::vector<float> expected(kPatterns), wide(kPatterns);
  for (std::size_t i = 0; i < kPatterns; ++i) {
    narrow[i] = TypeParam::from_bits(static_cast<decltype(TypeParam::bits)>(i));
    expected[i] = static_cast<float>(narrow[i]);
  }
  for (const KernelTable& table : tables()) {
    SCOPED_TRACE(table.target);
    table.widen[static_cast<std::size_t>(kDataTypeOf<TypeParam>)](wide.data(), narrow.data(), kPatterns);
    expect_bits(expected, reinterpret_cast<const std::byte*>(wide.data()), kPatterns);
  }
}

TYPED_TEST(ConvertTest, RoundsAsTheScalarTypeDoes) {
  constexpr std::size_t kBatch = 1 << 16;
  std::vector<float> values(kBatch);
  std::vector<TypeParam> expected(kBatch), rounded(kBatch);
  std::uint64_t word = 0;
  while (word < (std::uint64_t{1} << 32)) {
    for (std::size_t i = 0; i < kBatch; ++i, word += 499) {
      values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(word));
      expected[i] = TypeParam(values[i]);
    }
    for (const KernelTable& table : tables()) {
      SCOPED_TRACE(table.target);
      table.narrow[static_cast<std::size_t>(kDataTypeOf<TypeParam>)](rounded.data(), values.data(), kBatch);
      expect_bits(expected, reinterpret_cast<const std::byte*>(rounded.data()), kBatch);
    }
    if (this->HasFailure()) return;
  }
}

TYPED_TEST(ConvertTest, TakesAnyCountAndAlignment) {
  const auto values = random_inputs<float>(6)[0];
  std::vector<TypeParam> narrow(values.begin(), values.end());
  for (std::size_t count : kCounts) {
    Placed from(count * 4, 3), to(count * sizeof(TypeParam), 5);
    from.fill(values);
    spi::convert(to.data(), kDataTypeOf<TypeParam>, from.data(), DataType::float32, count);
    expect_bits(narrow, to.data(), count);
    EXPECT_TRUE(to.guards_intact());
    const std::vector<float> back(narrow.begin(), narrow.end());
    spi::convert(from.data(), DataType::float32, to.data(), kDataTypeOf<TypeParam>, count);
    expect_bits(back, from.data(), count);
    EXPECT_TRUE(from.guards_intact());
  }
}

TEST(Copy, CopiesExactlyTheBytesAsked) {
  std::mt19937_64 random(7);
  const auto bytes = random_values<std::uint8_t>(random, 5000);
  for (const KernelTable& table : tables()) {
    for (std::size_t count : {1, 15, 63, 64, 65, 127, 128, 129, 191, 1000, 5000}) {
      for (std::size_t offset : {0, 1, 32, 63}) {
        for (const auto kernel : {table.copy, table.stream_copy}) {
          Placed to(count, offset);
          kernel(to.data(), bytes.data(), count);
          expect_bits(bytes, to.data(), count);
          EXPECT_TRUE(to.guards_intact()) << table.target << " " << count;
        }
      }
    }
  }
  spi::copy(nullptr, nullptr, 0, false);
  spi::copy(nullptr, nullptr, 0, true);
}

TEST(KernelTarget, IsTheWidestUnitOfThisCpu) {
  EXPECT_EQ(spi::kernel_target(), tables().front().target);
  EXPECT_EQ(tables().back().target, "portable");
  if (tables().size() == 1) return;  // built without Highway: only the portable table
#if defined(__x86_64__)
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr bool kHasAvx3 = false;  // see highway_targets.hpp
#else
  constexpr bool kHasAvx3 = true;
#endif
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool avx3 = kHasAvx3 && avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  if (avx3)
    EXPECT_TRUE(spi::kernel_target().starts_with("AVX3")) << spi::kernel_target();
  else if (avx2)
    EXPECT_EQ(spi::kernel_target(), "AVX2");
  else
    EXPECT_TRUE(spi::kernel_target().starts_with("SS")) << spi::kernel_target();
#endif
}

}  // namespace
}  // namespace tutti::kernels_test

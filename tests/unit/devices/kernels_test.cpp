#include "tutti/spi/kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels_test_support.hpp"

namespace tutti::kernels_test {
namespace {

using spi::ReduceTuning;

constexpr int kSourceCounts[] = {1, 2, 3, 4, 7};

// A serial reference that shares no code with the kernels.
template <typename A>
A combine(Reduction reduction, A a, A b) {
  if constexpr (std::is_floating_point_v<A>) {
    switch (reduction) {
      case Reduction::product:
        return a * b;
      case Reduction::min:
        return std::isnan(a) ? a : std::isnan(b) ? b : (b < a ? b : a);
      case Reduction::max:
        return std::isnan(a) ? a : std::isnan(b) ? b : (b > a ? b : a);
      default:
        return a + b;
    }
  } else {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    switch (reduction) {
      case Reduction::product:
        return wrap<A>(x * y);
      case Reduction::min:
        return b < a ? b : a;
      case Reduction::max:
        return b > a ? b : a;
      case Reduction::bit_and:
        return wrap<A>(x & y);
      case Reduction::bit_or:
        return wrap<A>(x | y);
      case Reduction::bit_xor:
        return wrap<A>(x ^ y);
      case Reduction::logical_and:
        return a != 0 && b != 0;
      case Reduction::logical_or:
        return a != 0 || b != 0;
      case Reduction::logical_xor:
        return (a != 0) != (b != 0);
      default:
        return wrap<A>(x + y);
    }
  }
}

template <typename T>
T reference(Reduction reduction, const std::vector<std::vector<T>>& inputs, int sources, std::size_t i,
            const ReduceTuning& tuning) {
  using A = Wide<T>;
  const auto input = [&](int source) {
    // Volatile: the compiler must not fuse the product with the addition that follows.
    volatile A value = static_cast<A>(inputs[static_cast<std::size_t>(source)][i]);
    if constexpr (std::is_floating_point_v<A>) value = value * static_cast<A>(tuning.prescale);
    return A{value};
  };
  A result = input(0);
  if (reduction >= Reduction::logical_and) result = result != 0;
  for (int source = 1; source < sources; ++source) result = combine(reduction, result, input(source));
  result = divide(result, tuning.divisor);
  if (result != result) result = std::numeric_limits<A>::quiet_NaN();
  return static_cast<T>(result);
}

template <typename T>
std::vector<T> references(Reduction reduction, const std::vector<std::vector<T>>& inputs, int sources,
                          const ReduceTuning& tuning) {
  std::vector<T> expected(kLargest);
  for (std::size_t i = 0; i < kLargest; ++i) expected[i] = reference(reduction, inputs, sources, i, tuning);
  return expected;
}

struct Pair {
  Reduction reduction;
  DataType type;
};

std::vector<Pair> defined_pairs() {
  std::vector<Pair> pairs;
  for (Reduction reduction : kReductions) {
    for (DataType type : kDataTypes) {
      if (is_defined(reduction, type)) pairs.push_back({reduction, type});
    }
  }
  return pairs;
}

class ReduceKernelTest : public testing::TestWithParam<Pair> {};

template <typename T>
void check_range(const KernelTable& table, Reduction reduction, const std::vector<std::vector<T>>& inputs, int sources,
                 const std::vector<T>& expected, std::size_t count, std::size_t offset, int outputs,
                 const ReduceTuning& tuning) {
  SCOPED_TRACE(testing::Message() << sources << " sources, " << count << " elements, offset " << offset << ", "
                                  << outputs << " outputs, of which streamed " << tuning.streamed_outputs);
  std::vector<Placed> sources_placed;
  std::vector<const void*> from;
  for (int source = 0; source < sources; ++source) {
    const auto shift = offset * static_cast<std::size_t>(source + 1) % 64;
    sources_placed.emplace_back(count * sizeof(T), shift).fill(inputs[static_cast<std::size_t>(source)]);
  }
  for (Placed& placed : sources_placed) from.push_back(placed.data());
  std::vector<Placed> results;
  std::vector<void*> to;
  for (int k = 0; k < outputs; ++k) results.emplace_back(count * sizeof(T), k == 0 || count % 2 == 0 ? offset : 0);
  for (Placed& result : results) to.push_back(result.data());
  table.at(reduction, kDataTypeOf<T>)(to.data(), outputs, from.data(), sources, count, tuning);
  for (Placed& result : results) {
    expect_bits(expected, result.data(), count);
    EXPECT_TRUE(result.guards_intact());
  }
}

TEST_P(ReduceKernelTest, MatchesTheSerialReference) {
  const auto [reduction, type] = GetParam();
  for_each_table(type, [reduction = reduction]<typename T>(const KernelTable& table) {
    const auto inputs = random_inputs<T>(1);
    for (int sources : kSourceCounts) {
      ReduceTuning tuning;
      if (reduction == Reduction::average) tuning.divisor = static_cast<std::uint64_t>(sources);
      const auto expected = references(reduction, inputs, sources, tuning);
      for (std::size_t count : kCounts) {
        for (std::size_t offset : {std::size_t{0}, sizeof(T), std::size_t{24}, std::size_t{1}, std::size_t{61}}) {
          for (int outputs : {1, 2}) {
            for (int streamed = 0; streamed <= outputs; ++streamed) {
              tuning.streamed_outputs = streamed;
              check_range(table, reduction, inputs, sources, expected, count, offset, outputs, tuning);
            }
          }
        }
      }
    }
  });
}

TEST_P(ReduceKernelTest, AppliesPrescaleAndDivisor) {
  const auto [reduction, type] = GetParam();
  for_each_table(type, [reduction = reduction]<typename T>(const KernelTable& table) {
    const auto inputs = random_inputs<T>(2);
    constexpr std::uint64_t kDivisors[] = {1,
                                           2,
                                           3,
                                           7,
                                           64,
                                           100,
                                           255,
                                           1000,
                                           65535,
                                           65536,
                                           0xFFFFFFFF,
                                           5'000'000'000,
                                           std::uint64_t{1} << 63,
                                           ~std::uint64_t{0}};
    for (std::uint64_t divisor : kDivisors) {
      SCOPED_TRACE(divisor);
      const ReduceTuning tuning{.prescale = is_floating(kDataTypeOf<T>) ? 1.0 / 3 : 1.0, .divisor = divisor};
      const auto expected = references(reduction, inputs, 3, tuning);
      for (std::size_t count : {std::size_t{5}, kLargest}) {
        check_range(table, reduction, inputs, 3, expected, count, 8, 2, tuning);
      }
    }
  });
}

TEST_P(ReduceKernelTest, WritesAsManyOutputsAsThereAreRanks) {
  const auto [reduction, type] = GetParam();
  for_each_table(type, [reduction = reduction]<typename T>(const KernelTable& table) {
    const auto inputs = random_inputs<T>(5);
    const auto expected = references(reduction, inputs, 3, {});
    for (int outputs : {3, 7, spi::kMostOutputs}) {
      for (int streamed : {0, 2, outputs}) {
        check_range(table, reduction, inputs, 3, expected, 131, 16, outputs, {.streamed_outputs = streamed});
      }
    }
  });
}

// A collective may split a buffer anywhere; the result must have the same bits.
TEST_P(ReduceKernelTest, SplittingChangesNoBit) {
  const auto [reduction, type] = GetParam();
  for_each_table(type, [reduction = reduction]<typename T>(const KernelTable& table) {
    const auto inputs = random_inputs<T>(3);
    const ReduceTuning tuning{.prescale = is_floating(kDataTypeOf<T>) ? 0.7 : 1.0, .divisor = 3};
    const auto expected = references(reduction, inputs, 4, tuning);
    std::vector<T> result(kLargest);
    for (std::size_t piece : {1, 3, 17, 32, 129, 2048}) {
      for (std::size_t first = 0; first < kLargest; first += piece) {
        const void* from[4];
        for (std::size_t source = 0; source < 4; ++source) from[source] = inputs[source].data() + first;
        void* const to[] = {result.data() + first};
        table.at(reduction, kDataTypeOf<T>)(to, 1, from, 4, std::min(piece, kLargest - first),
                                            {tuning.prescale, tuning.divisor, piece > 100 ? 1 : 0});
      }
      SCOPED_TRACE(piece);
      expect_bits(expected, reinterpret_cast<const std::byte*>(result.data()), kLargest);
    }
  });
}

TEST_P(ReduceKernelTest, AnOutputMayBeAnyInput) {
  const auto [reduction, type] = GetParam();
  for_each_table(type, [reduction = reduction]<typename T>(const KernelTable& table) {
    const auto inputs = random_inputs<T>(4);
    for (std::uint64_t divisor : {1, 3}) {
      for (int streamed : {0, 1, 2}) {
        const ReduceTuning tuning{.divisor = divisor, .streamed_outputs = streamed};
        const auto expected = references(reduction, inputs, 3, tuning);
        for (std::size_t in_place = 0; in_place < 3; ++in_place) {
          auto copies = inputs;
          std::vector<T> other(kLargest);
          const void* const from[] = {copies[0].data(), copies[1].data(), copies[2].data()};
          void* const to[] = {other.data(), copies[in_place].data()};
          table.at(reduction, kDataTypeOf<T>)(to, 2, from, 3, kLargest, tuning);
          expect_bits(expected, reinterpret_cast<const std::byte*>(other.data()), kLargest);
          expect_bits(expected, reinterpret_cast<const std::byte*>(copies[in_place].data()), kLargest);
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(AllPairs, ReduceKernelTest, testing::ValuesIn(defined_pairs()), [](const auto& param_info) {
  return std::string(name(param_info.param.type)) + "_" + std::string(name(param_info.param.reduction));
});

TEST(ReduceKernel, ExistsExactlyWhereTheReductionIsDefined) {
  for (Reduction reduction : kReductions) {
    for (DataType type : kDataTypes) {
      EXPECT_EQ(spi::reduce_kernel(reduction, type) != nullptr, is_defined(reduction, type))
          << name(reduction) << " of " << name(type);
    }
  }
}

TEST(ReduceKernel, OfNothingTouchesNothing) {
  for (DataType type : kDataTypes) {
    void* const to[] = {nullptr, nullptr};
    const void* const from[] = {nullptr, nullptr};
    for (int streamed : {0, 2}) {
      spi::reduce_kernel(Reduction::sum, type)(to, 2, from, 2, 0, {1.0, 2, streamed});
    }
  }
}

}  // namespace
}  // namespace tutti::kernels_test

#include "arithmetic/adasum.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

#include "arithmetic/round_to_odd.hpp"
#include "tutti/error.hpp"

namespace tutti::horovod {
namespace {

/// Messages between ranks that are threads.
class Mail {
 public:
  Exchange of(int rank) {
    return [this, rank](int peer, std::span<const std::byte> out, std::span<std::byte> in) {
      std::unique_lock lock(mutex_);
      longest_ = std::max({longest_, out.size(), in.size()});
      boxes_[{rank, peer}].emplace_back(out.begin(), out.end());
      changed_.notify_all();
      auto& box = boxes_[{peer, rank}];
      changed_.wait(lock, [&] { return !box.empty(); });
      ASSERT_EQ(box.front().size(), in.size());
      std::ranges::copy(box.front(), in.begin());
      box.pop_front();
    };
  }
  [[nodiscard]] std::size_t longest() const { return longest_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> boxes_;
  std::size_t longest_ = 0;
};

template <typename T>
using Vectors = std::vector<std::vector<T>>;

template <typename T>
Vectors<T> run_ranks(Vectors<T> inputs, const std::vector<std::size_t>& counts, std::size_t largest_message = 1 << 20,
                     std::size_t* longest = nullptr) {
  Mail mail;
  const int size = static_cast<int>(inputs.size());
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      std::vector<T>& mine = inputs[static_cast<std::size_t>(rank)];
      std::vector<T> scratch(mine.size());
      Adasum adasum(rank, size, mail.of(rank), largest_message);
      adasum.run(reinterpret_cast<std::byte*>(mine.data()), reinterpret_cast<std::byte*>(scratch.data()),
                 kDataTypeOf<T>, counts);
    });
  }
  threads.clear();
  if (longest != nullptr) *longest = mail.longest();
  return inputs;
}

template <typename T>
double wide(T value) {
  if constexpr (sizeof(T) == 2) return static_cast<double>(static_cast<float>(value));
  return static_cast<double>(value);
}

template <>
double wide<float16>(float16 value) {
  return static_cast<double>(static_cast<float>(value));
}
template <>
double wide<bfloat16>(bfloat16 value) {
  return static_cast<double>(static_cast<float>(value));
}

template <typename T>
T narrow(double value) {
  return static_cast<T>(value);
}
template <>
float16 narrow(double value) {
  return float16(round_to_odd(value));
}
template <>
bfloat16 narrow(double value) {
  return bfloat16(round_to_odd(value));
}

/// The binary tree of the pairwise operator on whole vectors.
template <typename T>
std::vector<T> reference(const Vectors<T>& inputs, std::size_t first, std::size_t last) {
  if (last - first == 1) return inputs[first];
  const std::vector<T> left = reference(inputs, first, (first + last) / 2);
  const std::vector<T> right = reference(inputs, (first + last) / 2, last);
  double dot = 0, left_norm = 0, right_norm = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    dot += wide(left[i]) * wide(right[i]);
    left_norm += wide(left[i]) * wide(left[i]);
    right_norm += wide(right[i]) * wide(right[i]);
  }
  const double a = left_norm > 0 ? 1 - 0.5 * dot / left_norm : 1;
  const double b = right_norm > 0 ? 1 - 0.5 * dot / right_norm : 1;
  std::vector<T> result(left.size());
  for (std::size_t i = 0; i < left.size(); ++i) result[i] = narrow<T>(a * wide(left[i]) + b * wide(right[i]));
  return result;
}

template <typename T>
std::vector<T> reference(const Vectors<T>& inputs, const std::vector<std::size_t>& counts) {
  std::vector<T> result;
  std::size_t begin = 0;
  for (const std::size_t count : counts) {
    Vectors<T> parts;
    for (const auto& input : inputs) {
      const auto first = input.begin() + static_cast<std::ptrdiff_t>(begin);
      parts.emplace_back(first, first + static_cast<std::ptrdiff_t>(count));
    }
    const std::vector<T> part = reference(parts, 0, parts.size());
    result.insert(result.end(), part.begin(), part.end());
    begin += count;
  }
  return result;
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <typename T>
Vectors<T> random_inputs(int ranks, std::size_t count, bool whole) {
  std::mt19937 random(static_cast<unsigned>(ranks) * 1000 + static_cast<unsigned>(count));
  std::uniform_int_distribution<int> integer(-8, 8);
  std::normal_distribution<double> real;
  Vectors<T> inputs(static_cast<std::size_t>(ranks), std::vector<T>(count));
  for (auto& input : inputs) {
    for (T& value : input) value = narrow<T>(whole ? integer(random) : real(random));
  }
  return inputs;
}

template <typename T>
class AdasumTypes : public testing::Test {};
using Types = testing::Types<float16, bfloat16, float, double>;
TYPED_TEST_SUITE(AdasumTypes, Types);

// The sums of the products of small whole numbers are exact in any order, so that the bits must be equal.
TYPED_TEST(AdasumTypes, TwoRanksGiveTheBitsOfTheFormula) {
  for (const std::vector<std::size_t>& counts :
       {std::vector<std::size_t>{1}, {2}, {7, 1, 0, 30}, {1000, 3, 257}, {0}}) {
    const std::size_t all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    const Vectors<TypeParam> inputs = random_inputs<TypeParam>(2, all, true);
    const std::vector<TypeParam> expected = reference(inputs, counts);
    for (const auto& result : run_ranks(inputs, counts)) EXPECT_EQ(bytes_of(result), bytes_of(expected)) << all;
  }
}

// From the second level on, the sums are rounded in another order than those of the reference.
TYPED_TEST(AdasumTypes, MoreRanksGiveTheReferenceAndAllTheSame) {
  constexpr bool kIsHalf = sizeof(TypeParam) == 2;
  const double tolerance = std::is_same_v<TypeParam, bfloat16> ? 0.02 : kIsHalf ? 0.003 : 1e-6;
  for (const int ranks : {1, 4, 8}) {
    const std::vector<std::size_t> counts = {3, 129, 1, 0, 50};
    const Vectors<TypeParam> inputs = random_inputs<TypeParam>(ranks, 183, false);
    const std::vector<TypeParam> expected = reference(inputs, counts);
    const Vectors<TypeParam> results = run_ranks(inputs, counts);
    for (const auto& result : results) EXPECT_EQ(bytes_of(result), bytes_of(results.front())) << ranks;
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(wide(results[0][i]), wide(expected[i]), tolerance * (1 + std::fabs(wide(expected[i])))) << ranks;
  }
}

TEST(Adasum, FourRanksAreExactForSumsThatAreExact) {
  // Orthogonal vectors are added, parallel ones averaged.
  const Vectors<float> orthogonal = {{1, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 3, 0}, {0, 0, 0, 4}};
  for (const auto& result : run_ranks(orthogonal, {4})) EXPECT_EQ(result, (std::vector<float>{1, 2, 3, 4}));
  const Vectors<float> parallel(4, {1, -2, 3, -4});
  for (const auto& result : run_ranks(parallel, {4})) EXPECT_EQ(result, parallel.front());
  const Vectors<double> zeros(4, std::vector<double>(5));
  for (const auto& result : run_ranks(zeros, {5})) EXPECT_EQ(result, zeros.front());
}

TEST(Adasum, TheResultDoesNotDependOnTheScaleOfTheGradients) {
  const Vectors<double> plain = random_inputs<double>(2, 20, true);
  Vectors<double> tiny = plain;
  for (auto& input : tiny) {
    for (double& value : input) value *= 0x1p-300;
  }
  const std::vector<double> expected = run_ranks(plain, {20}).front();
  const std::vector<double> result = run_ranks(tiny, {20}).front();
  for (std::size_t i = 0; i < result.size(); ++i) EXPECT_EQ(result[i] * 0x1p300, expected[i]);
}

TEST(Adasum, LargeMessagesAreCut) {
  const Vectors<float> inputs = random_inputs<float>(4, 1001, true);
  std::size_t longest = 0;
  EXPECT_EQ(run_ranks(inputs, {1001}, 100, &longest), run_ranks(inputs, {1001}));
  EXPECT_EQ(longest, 100u);
}

TEST(Adasum, RefusesOtherNumbersOfRanksAndOtherTypes) {
  const Exchange none = [](int, std::span<const std::byte>, std::span<std::byte>) {};
  for (const int size : {0, 3, 6, -2}) EXPECT_THROW(Adasum(0, size, none), Error) << size;
  std::vector<std::size_t> counts = {1};
  std::byte data{};
  EXPECT_THROW(Adasum(0, 1, none).run(&data, &data, DataType::int8, counts), Error);
}

}  // namespace
}  // namespace tutti::horovod

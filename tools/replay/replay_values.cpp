#include "replay/replay_values.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "text/text.hpp"

namespace tutti::tools {

namespace {

constexpr int kAll = -1;  ///< the source of a reduction
// Small enough for sums of many ranks to be exact in 8 bits.
constexpr std::uint32_t kLargest = 96;
constexpr std::uint32_t kLargestFloat8 = 7;
// Products must fit every type.
constexpr int kFactors = 4;

std::uint64_t count_of(const replay::RecordedOperation& op, const std::vector<std::uint64_t>& list,
                       int block) noexcept {
  return list.empty() ? op.count : list[static_cast<std::size_t>(block)];
}

template <typename T>
T to_element(double number) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(number));
  } else {
    return T(static_cast<float>(number));
  }
}

template <typename T>
double to_double(T element) noexcept {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(element);
  } else {
    return static_cast<double>(static_cast<float>(element));
  }
}

double reduce(Reduction reduction, double a, double b) noexcept {
  const auto x = static_cast<std::int64_t>(a);
  const auto y = static_cast<std::int64_t>(b);
  switch (reduction) {
    case Reduction::sum:
    case Reduction::average:
      return a + b;
    case Reduction::product:
      return a * b;
    case Reduction::min:
      return std::min(a, b);
    case Reduction::max:
      return std::max(a, b);
    case Reduction::bit_and:
      return static_cast<double>(x & y);
    case Reduction::bit_or:
      return static_cast<double>(x | y);
    case Reduction::bit_xor:
      return static_cast<double>(x ^ y);
    case Reduction::logical_and:
      return x != 0 && y != 0 ? 1 : 0;
    case Reduction::logical_or:
      return x != 0 || y != 0 ? 1 : 0;
    case Reduction::logical_xor:
      break;
  }
  return (x != 0) != (y != 0) ? 1 : 0;
}

}  // namespace

std::uint32_t ReplayValues::value(int rank, int block, std::uint64_t offset) const noexcept {
  std::uint64_t x = seed_ + static_cast<std::uint64_t>(rank) * 0x9E3779B97F4A7C15U +
                    static_cast<std::uint64_t>(block) * 0xC2B2AE3D27D4EB4FU + offset * 0x165667B19E3779F9U;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9U;
  x ^= x >> 32;
  const auto bits = static_cast<std::uint32_t>(x);
  const std::uint32_t largest = is_float8(op_.type) ? kLargestFloat8 : kLargest;
  if (!traits(op_.kind).reduces) return bits % (largest + 1);
  if (op_.reduction == Reduction::product) return rank < kFactors ? 1 + bits % 2 : 1;
  const bool adds = op_.reduction == Reduction::sum || op_.reduction == Reduction::average;
  return bits % ((adds ? std::max(largest / static_cast<std::uint32_t>(size_), 1U) : largest) + 1);
}

double ReplayValues::combined(int block, std::uint64_t offset) const noexcept {
  double result = op_.prescale * value(0, block, offset);
  if (size_ == 1 && op_.reduction >= Reduction::logical_and) result = result != 0 ? 1 : 0;
  for (int rank = 1; rank < size_; ++rank)
    result = reduce(op_.reduction, result, op_.prescale * value(rank, block, offset));
  return op_.reduction == Reduction::average ? result / size_ : result;
}

void ReplayValues::fill(void* input) const {
  if (input == nullptr) return;
  const Extent extent = traits(op_.kind).input;
  const int blocks = extent == Extent::block ? 1 : size_;
  visit(op_.type, [&]<typename T>(T*) {
    T* element = static_cast<T*>(input);
    for (int block = 0; block < blocks; ++block) {
      const std::uint64_t count = extent == Extent::vector ? count_of(op_, op_.in, block) : op_.count;
      for (std::uint64_t i = 0; i < count; ++i) *element++ = to_element<T>(value(rank_, block, i));
    }
  });
}

template <typename T>
std::string ReplayValues::check_block(const T* output, std::uint64_t first, std::uint64_t count, int source,
                                      int block) const {
  for (std::uint64_t i = 0; i < count; ++i) {
    const double number = source == kAll ? combined(block, i) : value(source, block, i);
    const double want = to_double(to_element<T>(number));
    const double got = to_double(output[first + i]);
    // Scaled and averaged numbers are rounded in ways that the libraries choose.
    const bool is_rounded = !std::is_integral_v<T> && source == kAll;
    const double tolerance = is_float8(op_.type) ? 0.3 : 0.02;
    if (is_rounded ? std::abs(got - want) <= tolerance * std::max(1.0, std::abs(want)) : got == want) continue;
    return concat("element ", first + i, " is ", got, " instead of ", want);
  }
  return {};
}

template <typename T>
std::string ReplayValues::check_all(const T* output) const {
  const OpTraits& row = traits(op_.kind);
  if (row.output == Extent::block) {
    const bool own_block = row.input == Extent::blocks || row.input == Extent::vector;
    return check_block(output, 0, op_.count, row.reduces ? kAll : op_.root, own_block ? rank_ : 0);
  }
  std::uint64_t first = 0;
  for (int source = 0; source < size_; ++source) {
    const std::uint64_t count = row.output == Extent::vector ? count_of(op_, op_.out, source) : op_.count;
    const bool own_block = row.input == Extent::blocks || row.input == Extent::vector;
    if (std::string problem = check_block(output, first, count, source, own_block ? rank_ : 0); !problem.empty())
      return problem;
    first += count;
  }
  return {};
}

std::string ReplayValues::check(const void* output) const {
  if (output == nullptr) return {};
  return visit(op_.type, [&]<typename T>(T*) { return check_all(static_cast<const T*>(output)); });
}

}  // namespace tutti::tools

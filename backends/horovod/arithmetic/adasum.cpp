#include "arithmetic/adasum.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>
#include <utility>

#include "arithmetic/round_to_odd.hpp"
#include "tutti/error.hpp"

namespace tutti::horovod {
namespace {

template <typename T>
double wide(T value) noexcept {
  if constexpr (sizeof(T) == 2) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

template <typename T>
T narrow(double value) noexcept {
  if constexpr (sizeof(T) == 2) {
    return T(round_to_odd(value));
  } else {
    return static_cast<T>(value);
  }
}

/// Calls f with a null pointer to the C++ type.
template <typename F>
auto visit_floating(DataType type, F&& f) {
  switch (type) {
    case DataType::float16:
      return f(static_cast<float16*>(nullptr));
    case DataType::bfloat16:
      return f(static_cast<bfloat16*>(nullptr));
    case DataType::float32:
      return f(static_cast<float*>(nullptr));
    default:
      return f(static_cast<double*>(nullptr));
  }
}

AdasumProducts operator+(const AdasumProducts& a, const AdasumProducts& b) noexcept {
  return {a.dot + b.dot, a.left + b.left, a.right + b.right};
}

template <typename T>
AdasumProducts products_of(const T* left, const T* right, std::size_t count) noexcept {
  // Independent sums, which the compiler can keep in vectors.
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> dot{};
  std::array<double, kLanes> left_norm{};
  std::array<double, kLanes> right_norm{};
  const auto add = [&](std::size_t lane, std::size_t i) {
    const double a = wide(left[i]);
    const double b = wide(right[i]);
    dot[lane] += a * b;
    left_norm[lane] += a * a;
    right_norm[lane] += b * b;
  };
  const std::size_t whole = count - count % kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, i + lane);
  }
  for (std::size_t i = whole; i < count; ++i) add(i - whole, i);
  AdasumProducts sum;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    sum = sum + AdasumProducts{dot[lane], left_norm[lane], right_norm[lane]};
  return sum;
}

template <typename T>
void combine_elements(T* left, const T* right, std::size_t count, double a, double b) noexcept {
  for (std::size_t i = 0; i < count; ++i) left[i] = narrow<T>(a * wide(left[i]) + b * wide(right[i]));
}

double factor(double dot, double norm) noexcept {
  // Below that the quotient of two tiny numbers means nothing.
  return norm > std::numeric_limits<double>::min() ? 1.0 - 0.5 * dot / norm : 1.0;
}

}  // namespace

bool adasum_takes(DataType type) noexcept { return is_floating(type) && !is_float8(type); }

AdasumProducts adasum_products(const void* left, const void* right, DataType type, std::size_t count) noexcept {
  return visit_floating(type, [&]<typename T>(T*) {
    return products_of(static_cast<const T*>(left), static_cast<const T*>(right), count);
  });
}

void adasum_combine(void* left, const void* right, DataType type, std::size_t count,
                    const AdasumProducts& products) noexcept {
  const double a = factor(products.dot, products.left);
  const double b = factor(products.dot, products.right);
  visit_floating(type, [&]<typename T>(T*) {
    combine_elements(static_cast<T*>(left), static_cast<const T*>(right), count, a, b);
  });
}

Adasum::Adasum(int rank, int size, Exchange exchange, std::size_t largest_message)
    : rank_(rank), size_(size), exchange_(std::move(exchange)), largest_message_(largest_message) {
  if (size < 1 || !std::has_single_bit(static_cast<unsigned>(size))) {
    throw Error(ErrorCode::invalid_argument, "Adasum needs a power of two as the number of ranks; there are " +
                                                 std::to_string(size) + ". Use another reduction");
  }
}

void Adasum::run(std::byte* data, std::byte* scratch, DataType type, std::span<const std::size_t> counts) {
  if (!adasum_takes(type)) {
    throw Error(ErrorCode::unsupported,
                "Adasum of " + std::string(name(type)) + " is not defined; use float16, bfloat16, float32 or float64");
  }
  const std::size_t width = size_of(type);
  Slice mine{0, 0};
  for (const std::size_t count : counts) mine.end += count;
  const auto part = [&](std::byte* buffer, const Slice& slice) {
    return std::span(buffer + slice.begin * width, slice.size() * width);
  };
  // At level L the ranks of a block of 2 L hold the combinations of its halves, a slice each. Neighbours of equal slice
  // halve it; each combines one half.
  theirs_.clear();
  for (int level = 1; level < size_; level *= 2) {
    const std::size_t middle = mine.begin + mine.size() / 2;
    Slice other{middle, mine.end};
    mine.end = middle;
    if ((rank_ & level) != 0) std::swap(mine, other);
    transfer(rank_ ^ level, part(data, other), part(scratch, mine));
    combine(data, scratch, type, counts, mine, level);
    theirs_.push_back(other);
  }
  for (int level = size_ / 2; level > 0; level /= 2) {
    const Slice other = theirs_.back();
    theirs_.pop_back();
    transfer(rank_ ^ level, part(data, mine), part(data, other));
    mine = {std::min(mine.begin, other.begin), std::max(mine.end, other.end)};
  }
}

void Adasum::combine(std::byte* data, std::byte* scratch, DataType type, std::span<const std::size_t> counts,
                     const Slice& mine, int level) {
  const std::size_t width = size_of(type);
  const bool is_left = (rank_ & level) == 0;
  // Calls f(tensor, first byte, elements) for the part of each tensor that is in the slice.
  const auto each_tensor = [&](auto f) {
    std::size_t begin = 0;
    for (std::size_t tensor = 0; tensor < counts.size(); ++tensor) {
      const std::size_t end = begin + counts[tensor];
      const std::size_t first = std::max(begin, mine.begin);
      const std::size_t last = std::min(end, mine.end);
      f(tensor, first * width, first < last ? last - first : 0);
      begin = end;
    }
  };
  products_.resize(counts.size());
  each_tensor([&](std::size_t tensor, std::size_t offset, std::size_t count) {
    const std::byte* left = (is_left ? data : scratch) + offset;
    const std::byte* right = (is_left ? scratch : data) + offset;
    products_[tensor] = count == 0 ? AdasumProducts{} : adasum_products(left, right, type, count);
  });
  sum_products(products_, level);
  each_tensor([&](std::size_t tensor, std::size_t offset, std::size_t count) {
    AdasumProducts products = products_[tensor];
    // This rank's own vector is the first operand.
    if (!is_left) std::swap(products.left, products.right);
    if (count > 0) adasum_combine(data + offset, scratch + offset, type, count, products);
  });
}

// Both of a pair add the same two numbers, so that all ranks of the block get the same bits.
void Adasum::sum_products(std::vector<AdasumProducts>& products, int level) {
  received_.resize(products.size());
  for (int step = 1; step <= level; step *= 2) {
    transfer(rank_ ^ step, std::as_bytes(std::span(products)), std::as_writable_bytes(std::span(received_)));
    for (std::size_t i = 0; i < products.size(); ++i) products[i] = products[i] + received_[i];
  }
}

void Adasum::transfer(int peer, std::span<const std::byte> out, std::span<std::byte> in) {
  const auto piece = [&](auto bytes, std::size_t done) {
    const std::size_t begin = std::min(done, bytes.size());
    return bytes.subspan(begin, std::min(largest_message_, bytes.size() - begin));
  };
  const std::size_t longest = std::max(out.size(), in.size());
  for (std::size_t done = 0; done < longest; done += largest_message_)
    exchange_(peer, piece(out, done), piece(in, done));
}

}  // namespace tutti::horovod

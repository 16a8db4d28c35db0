#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernel_table.hpp"

namespace tutti::kernels_test {

using host::KernelTable;

inline constexpr std::size_t kLargest = 4099;
inline constexpr std::size_t kCounts[] = {0, 1, 2, 3, 7, 31, 64, 65, 1000, kLargest};
inline constexpr std::size_t kMaxSources = 7;

inline const std::vector<KernelTable>& tables() {
  static const std::vector<KernelTable> all = host::usable_kernels();
  return all;
}

/// Type in which elements of type T are combined.
template <typename T>
using Wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

template <typename A>
A wrap(std::uint64_t value) {
  return static_cast<A>(value);
}

/// Truncates integers toward zero, without the overflow of signed division.
template <typename A>
A divide(A value, std::uint64_t divisor) {
  if constexpr (std::is_floating_point_v<A>) {
    return value / static_cast<A>(divisor);
  } else {
    const bool negative = value < 0;
    const auto word = static_cast<std::uint64_t>(value);
    const std::uint64_t quotient = (negative ? 0 - word : word) / divisor;
    return wrap<A>(negative ? 0 - quotient : quotient);
  }
}

template <typename T>
T special_value(std::uint64_t which) {
  using Limits = std::numeric_limits<Wide<T>>;
  // The smallest positive value; its bit pattern is 1 in each type. That of a 16-bit type is normal in float32.
  T smallest{};
  const std::uint8_t one = 1;
  std::memcpy(&smallest, &one, 1);
  const Wide<T> values[] = {Wide<T>(-0.0), Wide<T>(0.0),        Limits::infinity(), -Limits::infinity(),
                            Limits::max(), Limits::quiet_NaN(), Wide<T>(smallest),  -Wide<T>(smallest)};
  return static_cast<T>(values[which]);
}

/// Numbers of all magnitudes, with special values (NaN with payload, infinities, zeros, subnormals) among the floats
/// and many zeros among the integers.
template <typename T>
std::vector<T> random_values(std::mt19937_64& random, std::size_t count) {
  std::vector<T> values(count);
  for (T& value : values) {
    const std::uint64_t bits = random();
    const auto kind = bits >> 60;
    if constexpr (std::is_integral_v<T>) {
      value = kind < 4 ? T{0} : static_cast<T>(kind < 8 ? bits % 16 : bits);
    } else if (kind < 8) {  // any pattern
      std::memcpy(&value, &bits, sizeof value);
    } else if (kind < 10) {
      value = special_value<T>(bits % 8);
    } else {
      value = static_cast<T>(std::ldexp(static_cast<float>(bits & 0xFFFF) - 32768.0F, static_cast<int>(kind) - 20));
    }
  }
  return values;
}

/// Elements at an address that is `offset` bytes past a 64-byte boundary, with guards on both sides.
class Placed {
 public:
  Placed(std::size_t bytes, std::size_t offset) : memory_(bytes + offset + 3 * kGuard, std::byte{0xA5}), bytes_(bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data()) + kGuard;
    start_ = kGuard + (64 - address % 64) % 64 + offset;
  }
  std::byte* data() { return memory_.data() + start_; }
  template <typename T>
  void fill(const std::vector<T>& values) {
    if (bytes_ != 0) std::memcpy(data(), values.data(), bytes_);
  }
  [[nodiscard]] bool guards_intact() const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if ((i < start_ || i >= start_ + bytes_) && memory_[i] != std::byte{0xA5}) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 64;
  std::vector<std::byte> memory_;
  std::size_t bytes_;
  std::size_t start_;
};

template <typename T>
void expect_bits(const std::vector<T>& expected, const std::byte* actual, std::size_t count, std::size_t first = 0) {
  if (count == 0 || std::memcmp(expected.data() + first, actual, count * sizeof(T)) == 0) return;
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, actual + i * sizeof(T), sizeof(T));
    if (std::memcmp(&value, &expected[first + i], sizeof(T)) != 0) {
      ADD_FAILURE() << "element " << i << " of " << count << ": " << +static_cast<Wide<T>>(value) << ", expected "
                    << +static_cast<Wide<T>>(expected[first + i]);
      return;
    }
  }
}

template <typename T>
std::vector<std::vector<T>> random_inputs(unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<T>> inputs;
  for (std::size_t source = 0; source < kMaxSources; ++source) inputs.push_back(random_values<T>(random, kLargest));
  return inputs;
}

/// Runs `body` with the element type and each table.
template <typename Body>
void for_each_table(DataType type, Body body) {
  visit(type, [&body]<typename T>(T*) {
    for (const KernelTable& table : tables()) {
      SCOPED_TRACE(table.target);
      body.template operator()<T>(table);
    }
  });
}

}  // namespace tutti::kernels_test

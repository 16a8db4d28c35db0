#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "support/data/pattern.hpp"
#include "tutti/allocate.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::test {

/// Memory of a case's buffers: the heap, or tutti::allocate().
enum class CaseMemory : std::uint8_t { ordinary, shared };

/// Bytes in one of these memories.
class CaseBuffer {
 public:
  void assign(CaseMemory memory, std::size_t bytes, std::byte value) {
    if (memory == CaseMemory::ordinary)
      heap_.resize(bytes);
    else
      shared_ = allocate<std::byte>(bytes);
    data_ = memory == CaseMemory::ordinary ? heap_.data() : shared_.data();
    bytes_ = bytes;
    std::fill_n(data_, bytes, value);
  }
  [[nodiscard]] std::byte* data() noexcept { return data_; }
  [[nodiscard]] const std::byte* begin() const noexcept { return data_; }
  [[nodiscard]] const std::byte* end() const noexcept { return data_ + bytes_; }

 private:
  std::vector<std::byte> heap_;
  SharedArray<std::byte> shared_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Parameters of a case; equal on all ranks.
struct CaseKey {
  std::uint64_t seed;
  OpKind kind;
  DataType type;
  std::uint64_t count;  ///< of a block; the largest for a vector form
};

/// One rank's side of a collective with random root, reduction, block lengths and placement: its buffers, and a check
/// of the results. Every element is a function of seed, rank and index, so each rank can compute the data of the
/// others.
class NativeCase {
 public:
  NativeCase(const CaseKey& key, int rank, int size, CaseMemory memory = CaseMemory::ordinary)
      : key_(key), rank_(rank), size_(size), memory_(memory) {
    Random random(key.seed);
    operation_.kind = key.kind;
    operation_.type = key.type;
    operation_.root = static_cast<int>(random.below(static_cast<std::uint64_t>(size)));
    operation_.count = key.kind == OpKind::alltoallv ? 0 : own_count();
    if (operation_.traits().reduces) {
      constexpr std::array reductions = {Reduction::sum, Reduction::max, Reduction::average, Reduction::min};
      operation_.reduction = reductions[random.below(reductions.size())];
      if (is_floating(key.type) && random.coin()) operation_.prescale = 2.0;
    }
    place_buffers(random.coin());
  }
  NativeCase(const NativeCase&) = delete;
  NativeCase& operator=(const NativeCase&) = delete;

  [[nodiscard]] const Operation& operation() const noexcept { return operation_; }

  /// Throws if a result is wrong; the text names the first wrong element.
  void check() const {
    visit(key_.type, [this](auto* tag) { compare<std::remove_pointer_t<decltype(tag)>>(); });
  }

 private:
  // Elements between the blocks of a vector form that has displacements.
  [[nodiscard]] std::uint64_t gap() const noexcept {
    return is_vector(key_.kind) && !traits(key_.kind).reduces ? 3 : 0;
  }
  // Elements that go from one rank to another.
  [[nodiscard]] std::uint64_t block(int from, int to) const noexcept {
    if (!is_vector(key_.kind)) return key_.count;
    const int column = key_.kind == OpKind::allgatherv ? 0 : to;
    if (key_.kind == OpKind::reduce_scatterv) from = 0;
    return mix(key_.seed, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(column)) % (key_.count + 1);
  }
  [[nodiscard]] std::uint64_t own_count() const noexcept {
    if (key_.kind == OpKind::reduce_scatterv) return block(rank_, rank_);
    return operation_.traits().input_root_only ? block(operation_.root, rank_) : block(rank_, operation_.root);
  }
  // Index of the block for `to` in the input of `from`, and of the block of `from` in the output of `to`.
  [[nodiscard]] std::uint64_t input_place(int from, int to) const noexcept {
    const Extent extent = operation_.traits().input;
    std::uint64_t at = 0;
    for (int r = 0; extent != Extent::block && r < to; ++r) at += block(from, r) + gap();
    return at;
  }
  [[nodiscard]] std::uint64_t output_place(int to, int from) const noexcept {
    const Extent extent = operation_.traits().output;
    std::uint64_t at = 0;
    for (int r = 0; extent != Extent::block && r < from; ++r) at += block(r, to) + gap();
    return at;
  }

  void place_buffers(bool in_place) {
    const OpTraits& traits = operation_.traits();
    const std::uint64_t width = size_of(key_.type);
    const std::uint64_t in = traits.input == Extent::block ? operation_.count : input_place(rank_, size_);
    const std::uint64_t out = traits.output == Extent::block ? operation_.count : output_place(rank_, size_);
    input_.assign(memory_, in * width, std::byte{0});
    output_.assign(memory_, out * width, std::byte{0xA5});
    visit(key_.type, [&](auto* tag) { fill<std::remove_pointer_t<decltype(tag)>>(in); });
    operation_.input = input_.data();
    operation_.output = output_.data();
    for (int r = 0; r < size_; ++r) {
      input_counts_.push_back(block(rank_, r));
      input_places_.push_back(input_place(rank_, r));
      output_counts_.push_back(block(r, rank_));
      output_places_.push_back(output_place(rank_, r));
    }
    if (traits.input == Extent::vector) operation_.input_layout = {input_counts_.data(), input_places_.data()};
    if (traits.reduces) operation_.input_layout.displacements = nullptr;
    if (traits.output == Extent::vector) operation_.output_layout = {output_counts_.data(), output_places_.data()};
    if (!in_place || (traits.output_root_only && rank_ != operation_.root)) return;
    if (traits.input == Extent::block && traits.output != Extent::none && key_.kind != OpKind::barrier) {
      std::byte* mine = output_.data() + output_place(rank_, rank_) * width;
      std::copy(input_.begin(), input_.end(), mine);
      operation_.input = mine;
    } else if (key_.kind == OpKind::reduce_scatter || key_.kind == OpKind::reduce_scatterv) {
      operation_.output = input_.data() + input_place(rank_, rank_) * width;
    }
  }

  // Small whole numbers: sums of 16 ranks are exact in every type.
  template <typename T>
  [[nodiscard]] T value(int rank, std::uint64_t index) const {
    const auto number = static_cast<std::uint8_t>(mix(key_.seed, static_cast<std::uint64_t>(rank), index) % 4);
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(number);
    else
      return T(static_cast<float>(number));
  }
  template <typename T>
  void fill(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const T element = value<T>(rank_, i);
      std::memcpy(input_.data() + i * sizeof(T), static_cast<const void*>(&element), sizeof(T));
    }
  }

  template <typename T>
  [[nodiscard]] T reduced(std::uint64_t index) const {
    double result = 0;
    for (int r = 0; r < size_; ++r) {
      const double mine = static_cast<double>(static_cast<float>(value<T>(r, index))) * operation_.prescale;
      if (r == 0)
        result = mine;
      else if (operation_.reduction == Reduction::max)
        result = std::max(result, mine);
      else if (operation_.reduction == Reduction::min)
        result = std::min(result, mine);
      else
        result += mine;
    }
    const bool average = operation_.reduction == Reduction::average;
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(average ? static_cast<int>(result) / size_ : static_cast<int>(result));
    else if constexpr (std::is_same_v<T, double>)
      return average ? result / size_ : result;
    else
      return T(average ? static_cast<float>(result) / static_cast<float>(size_) : static_cast<float>(result));
  }

  template <typename T>
  void expect(std::uint64_t at, std::uint64_t count, const std::function<T(std::uint64_t)>& expected) const {
    const auto* output = static_cast<const std::byte*>(operation_.output);
    for (std::uint64_t i = 0; i < count; ++i) {
      T got;
      std::memcpy(static_cast<void*>(&got), output + (at + i) * sizeof(T), sizeof(T));
      const T wanted = expected(i);
      if (got == wanted) continue;
      throw std::runtime_error("wrong result: " + describe(operation_) + ": element " + std::to_string(at + i) +
                               " is " + std::to_string(static_cast<float>(got)) + " instead of " +
                               std::to_string(static_cast<float>(wanted)));
    }
  }

  template <typename T>
  void expect_block_of(int from) const {
    const std::uint64_t first = input_place(from, rank_);
    expect<T>(output_place(rank_, from), block(from, rank_),
              [&](std::uint64_t i) { return value<T>(from, first + i); });
  }

  template <typename T>
  void compare() const {
    const OpTraits& traits = operation_.traits();
    if (traits.output == Extent::none || (traits.output_root_only && rank_ != operation_.root)) return;
    if (traits.reduces) {
      const std::uint64_t first = input_place(rank_, rank_);
      expect<T>(0, operation_.count, [&](std::uint64_t i) { return reduced<T>(first + i); });
    } else if (traits.input_root_only) {
      expect_block_of<T>(operation_.root);
    } else {
      for (int r = 0; r < size_; ++r) expect_block_of<T>(r);
    }
  }

  CaseKey key_;
  int rank_;
  int size_;
  CaseMemory memory_;
  Operation operation_;
  CaseBuffer input_;
  CaseBuffer output_;
  std::vector<std::uint64_t> input_counts_;
  std::vector<std::uint64_t> input_places_;
  std::vector<std::uint64_t> output_counts_;
  std::vector<std::uint64_t> output_places_;
};

}  // namespace tutti::test

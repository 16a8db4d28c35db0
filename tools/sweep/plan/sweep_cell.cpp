#include "sweep/plan/sweep_cell.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <type_traits>

#include "text/text.hpp"
#include "tutti/config.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

bool per_rank(Extent extent) noexcept { return extent == Extent::blocks || extent == Extent::vector; }

// All whole numbers up to this limit are exact in the type.
std::uint32_t exact_limit(DataType type) noexcept {
  switch (type) {
    case DataType::float8_e5m2:
      return 8;
    case DataType::float8_e4m3:
      return 16;
    case DataType::int8:
    case DataType::uint8:
      return 127;
    case DataType::bfloat16:
      return 256;
    case DataType::float16:
      return 2048;
    case DataType::int16:
    case DataType::uint16:
      return 32767;
    default:
      return 1U << 20;
  }
}

/// Pseudo-random numbers from rank and position; computing them costs less than the memory traffic.
class Pattern {
 public:
  Pattern(const CellShape& shape, std::uint32_t seed) noexcept : seed_(seed) {
    const auto ranks = static_cast<std::uint32_t>(traits(shape.op).reduces ? shape.ranks : 1);
    mask_ = std::bit_floor(std::max(exact_limit(shape.type) / ranks, 1U) + 1) - 1;
  }
  [[nodiscard]] std::uint32_t operator()(int rank, std::uint64_t position) const noexcept {
    std::uint32_t x = static_cast<std::uint32_t>(position) * 2654435761U +
                      static_cast<std::uint32_t>(position >> 32) * 40503U +
                      static_cast<std::uint32_t>(rank) * 0x85EBCA6BU + seed_;
    x ^= x >> 15;
    x *= 0x2C1B3C6DU;
    x ^= x >> 12;
    return x & mask_;
  }

 private:
  std::uint32_t seed_;
  std::uint32_t mask_;
};

template <typename T>
T to_element(std::uint32_t value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(value);
  } else {
    return T(static_cast<float>(value));
  }
}

template <typename T>
std::string shown(T value) {
  if constexpr (std::is_integral_v<T>) {
    return std::to_string(+value);
  } else {
    return concat(static_cast<double>(static_cast<float>(value)));
  }
}

constexpr std::string_view kInPlace = ":in-place";

constexpr std::uint64_t kRun = 1024;
using Run = std::array<std::uint32_t, kRun>;

// Stores the expected result from `position` on in `values`, before conversion to T. Returns the number of values: to
// the end of the block, kRun at most. Works in runs so that the compiler can vectorise: checking 512 MiB must not take
// longer than the call.
std::uint64_t expected(const CellShape& shape, const Pattern& pattern, int rank, std::uint64_t position, Run& values) {
  const OpTraits& row = traits(shape.op);
  const bool output_per_rank = per_rank(row.output);
  const std::uint64_t block = output_per_rank ? position / shape.count : 0;
  const std::uint64_t offset = position - block * shape.count;
  const std::uint64_t source = per_rank(row.input) ? static_cast<std::uint64_t>(rank) * shape.count + offset : offset;
  const std::uint64_t length = std::min(kRun, shape.count - offset);
  const int only = output_per_rank ? static_cast<int>(block) : kRoot;
  const int first = row.reduces ? 0 : only;
  const int last = row.reduces ? shape.ranks - 1 : only;
  for (std::uint64_t i = 0; i < length; ++i) values[i] = pattern(first, source + i);
  for (int from = first + 1; from <= last; ++from) {
    for (std::uint64_t i = 0; i < length; ++i) values[i] += pattern(from, source + i);
  }
  return length;
}

template <typename T>
std::string check(const CellShape& shape, int rank, std::uint32_t seed, const T* output, std::uint64_t first,
                  std::uint64_t count) {
  const Pattern pattern(shape, seed);
  Run values;
  for (std::uint64_t position = first; position < first + count;) {
    const std::uint64_t length = std::min(expected(shape, pattern, rank, position, values), first + count - position);
    for (std::uint64_t i = 0; i < length; ++i) {
      const T want = to_element<T>(values[i]);
      if (output[position + i] == want) continue;
      return concat("element ", position + i, " is ", shown(output[position + i]), " instead of ", shown(want));
    }
    position += length;
  }
  return {};
}

}  // namespace

std::string to_text(const SweepCell& cell) {
  return concat(name(cell.op), ':', cell.bytes, cell.in_place ? kInPlace : "");
}

std::vector<SweepCell> parse_cells(std::string_view text) {
  std::vector<SweepCell> cells;
  for (const std::string& item : split(text, ',')) {
    const bool in_place = item.ends_with(kInPlace);
    const std::vector<std::string> parts = split(in_place ? item.substr(0, item.size() - kInPlace.size()) : item, ':');
    const auto op = parts.size() == 2 ? parse_op_kind(parts[0]) : std::nullopt;
    const auto bytes = parts.size() == 2 ? parse_bytes(parts[1]) : std::nullopt;
    if (!op || !is_sweepable(*op) || !bytes)
      throw UsageError(concat("cell \"", printable(item), "\" is not of the form OPERATION:BYTES[:in-place]"));
    if (in_place && !allows_in_place(*op))
      throw UsageError(concat("cell \"", printable(item), "\": ", name(*op), " cannot be in place"));
    cells.push_back({*op, *bytes, in_place});
  }
  return cells;
}

bool is_sweepable(OpKind op) noexcept { return op != OpKind::send && op != OpKind::recv && op != OpKind::barrier; }

bool allows_in_place(OpKind op) noexcept {
  return is_sweepable(op) && op != OpKind::alltoall && op != OpKind::alltoallv;
}

CellShape::CellShape(const SweepCell& cell, DataType element_type, int rank_count)
    : op(cell.op), in_place(cell.in_place), type(element_type), ranks(rank_count) {
  const OpTraits& row = traits(op);
  const auto blocks = static_cast<std::uint64_t>(ranks);
  const std::uint64_t elements = cell.bytes / size_of(type);
  count = std::max<std::uint64_t>(per_rank(row.input) || per_rank(row.output) ? elements / blocks : elements, 1);
  input_count = per_rank(row.input) ? count * blocks : count;
  output_count = per_rank(row.output) ? count * blocks : count;
}

std::uint64_t CellShape::message_bytes() const noexcept { return std::max(input_count, output_count) * size_of(type); }

std::uint64_t CellShape::input_offset(int rank) const noexcept {
  return in_place && input_count < output_count ? static_cast<std::uint64_t>(rank) * count : 0;
}

std::uint64_t CellShape::output_offset(int rank) const noexcept {
  return in_place && output_count < input_count ? static_cast<std::uint64_t>(rank) * count : 0;
}

std::uint64_t CellShape::memory_bytes() const noexcept {
  const std::uint64_t larger = std::max(input_count, output_count);
  const std::uint64_t buffers = in_place ? larger : input_count + output_count;
  return (buffers + larger) * size_of(type) * static_cast<std::uint64_t>(ranks);
}

std::vector<SweepCell> distinct_cells(OpKind op, std::span<const std::uint64_t> sizes, DataType type, int ranks) {
  std::vector<SweepCell> cells;
  std::set<std::uint64_t> known;
  for (const std::uint64_t size : sizes) {
    const SweepCell cell{op, size};
    if (known.insert(CellShape(cell, type, ranks).message_bytes()).second) cells.push_back(cell);
  }
  return cells;
}

void fill_input(const CellShape& shape, int rank, std::uint32_t seed, void* input) {
  const Pattern pattern(shape, seed);
  visit(shape.type, [&]<typename T>(T*) {
    T* elements = static_cast<T*>(input);
    for (std::uint64_t i = 0; i < shape.input_count; ++i) elements[i] = to_element<T>(pattern(rank, i));
  });
}

bool has_result(const CellShape& shape, int rank) noexcept {
  return !traits(shape.op).output_root_only || rank == kRoot;
}

std::string check_output(const CellShape& shape, int rank, std::uint32_t seed, const void* output, std::uint64_t first,
                         std::uint64_t count) {
  return visit(shape.type,
               [&]<typename T>(T*) { return check(shape, rank, seed, static_cast<const T*>(output), first, count); });
}

std::vector<std::uint64_t> probe_positions(std::uint64_t count) {
  constexpr std::uint64_t kSteps = 61;  // prime, so that the steps do not coincide with power-of-two chunks
  std::vector<std::uint64_t> positions;
  for (std::uint64_t i = 0; i <= kSteps && count > 0; ++i) {
    // In this order the product stays below 2^64 for any count.
    const std::uint64_t position = (count - 1) / kSteps * i + (count - 1) % kSteps * i / kSteps;
    if (positions.empty() || positions.back() != position) positions.push_back(position);
  }
  return positions;
}

}  // namespace tutti::tools

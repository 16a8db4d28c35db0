#include "workload.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace tutti::bench {
namespace {

constexpr std::array<std::string_view, 5> kOpNames = {"allreduce", "allgather", "broadcast", "reduce_scatter",
                                                      "barrier"};
constexpr std::array<std::string_view, 3> kTypeNames = {"float32", "float16", "bfloat16"};

template <typename Enum, std::size_t N>
std::optional<Enum> parse(const std::array<std::string_view, N>& names, std::string_view text) noexcept {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

// Values up to 15, so that the sum over 16 ranks is exact in bfloat16.
std::uint32_t value_of(int rank, std::size_t position) noexcept {
  const std::uint32_t mixed = static_cast<std::uint32_t>(position) * 2654435761U +
                              static_cast<std::uint32_t>(position >> 32) * 40503U +
                              static_cast<std::uint32_t>(rank) * 0x85EBCA6BU;
  return mixed >> 28;
}

/// Conversion of small whole numbers to the bits of each type.
struct Float32 {
  using Bits = std::uint32_t;
  static Bits encode(std::uint32_t value) noexcept { return std::bit_cast<Bits>(static_cast<float>(value)); }
  static float decode(Bits bits) noexcept { return std::bit_cast<float>(bits); }
};
struct Bfloat16 {
  using Bits = std::uint16_t;
  static Bits encode(std::uint32_t value) noexcept { return static_cast<Bits>(Float32::encode(value) >> 16); }
  static float decode(Bits bits) noexcept { return Float32::decode(std::uint32_t{bits} << 16); }
};
struct Float16 {
  using Bits = std::uint16_t;
  static constexpr std::uint32_t kBiasDifference = (127 - 15) << 10;
  static Bits encode(std::uint32_t value) noexcept {
    return value == 0 ? Bits{0} : static_cast<Bits>((Float32::encode(value) >> 13) - kBiasDifference);
  }
  static float decode(Bits bits) noexcept { return bits == 0 ? 0.0F : Float32::decode((bits + kBiasDifference) << 13); }
};

template <typename Function>
auto visit(Type type, Function function) {
  switch (type) {
    case Type::float16:
      return function(Float16());
    case Type::bfloat16:
      return function(Bfloat16());
    case Type::float32:
      break;
  }
  return function(Float32());
}

// Origin of an output element: input element `source` of ranks [first, last].
struct Origin {
  int first;
  int last;
  std::size_t source;
};
Origin origin_of(const Workload& workload, int rank, std::size_t position) noexcept {
  switch (workload.op) {
    case Op::allgather: {
      const int from = static_cast<int>(position / workload.count());
      return {from, from, position % workload.count()};
    }
    case Op::reduce_scatter:
      return {0, workload.ranks - 1, static_cast<std::size_t>(rank) * workload.count() + position};
    case Op::broadcast:
      return {0, 0, position};
    case Op::allreduce:
    case Op::barrier:
      break;
  }
  return {0, workload.ranks - 1, position};
}

}  // namespace

std::string_view name(Op op) noexcept { return kOpNames[static_cast<std::size_t>(op)]; }
std::optional<Op> parse_op(std::string_view text) noexcept { return parse<Op>(kOpNames, text); }
std::string_view name(Type type) noexcept { return kTypeNames[static_cast<std::size_t>(type)]; }
std::optional<Type> parse_type(std::string_view text) noexcept { return parse<Type>(kTypeNames, text); }
std::size_t size_of(Type type) noexcept { return type == Type::float32 ? 4 : 2; }

std::size_t Workload::count() const noexcept {
  if (op == Op::barrier) return 0;
  const std::size_t elements = bytes / size_of(type);
  return std::max<std::size_t>(op == Op::reduce_scatter ? elements / static_cast<std::size_t>(ranks) : elements, 1);
}

std::size_t Workload::input_count() const noexcept {
  if (op == Op::broadcast) return 0;  // uses the output buffer only
  return op == Op::reduce_scatter ? count() * static_cast<std::size_t>(ranks) : count();
}

std::size_t Workload::output_count() const noexcept {
  return op == Op::allgather ? count() * static_cast<std::size_t>(ranks) : count();
}

void fill(const Workload& workload, int rank, void* input, void* output) {
  // With all bits set, an element is not a whole number in any type.
  std::memset(output, 0xFF, workload.output_bytes());
  const bool is_root = workload.op == Op::broadcast && rank == 0;
  visit(workload.type, [&]<typename Codec>(Codec) {
    auto* elements = static_cast<typename Codec::Bits*>(is_root ? output : input);
    const std::size_t count = is_root ? workload.output_count() : workload.input_count();
    for (std::size_t i = 0; i < count; ++i) elements[i] = Codec::encode(value_of(rank, i));
  });
}

std::string check(const Workload& workload, int rank, const void* output) {
  return visit(workload.type, [&]<typename Codec>(Codec) -> std::string {
    const auto* elements = static_cast<const typename Codec::Bits*>(output);
    for (std::size_t i = 0; i < workload.output_count(); ++i) {
      const Origin origin = origin_of(workload, rank, i);
      std::uint32_t want = 0;
      for (int from = origin.first; from <= origin.last; ++from) want += value_of(from, origin.source);
      if (elements[i] == Codec::encode(want)) continue;
      return "element " + std::to_string(i) + " is " + std::to_string(Codec::decode(elements[i])) + " instead of " +
             std::to_string(want);
    }
    return {};
  });
}

}  // namespace tutti::bench

#include "workload.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

namespace tutti::bench {
namespace {

constexpr std::array<std::string_view, std::size(kOps)> kOpNames = {
    "allreduce", "allgather", "broadcast", "reduce_scatter", "alltoall", "gather", "scatter", "message", "barrier"};
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

/// Consecutive elements of an output: the sums over the ranks [first, last] of their input elements from `source` on.
struct Piece {
  std::size_t begin = 0;
  std::size_t count = 0;
  int first = 0;
  int last = 0;
  std::size_t source = 0;
};

/// The pieces of a rank's output; none if it has no output.
std::vector<Piece> pieces_of(const Workload& workload, int rank) {
  const std::size_t count = workload.count();
  const std::size_t mine = static_cast<std::size_t>(rank) * count;
  const auto one = [&](int first, int last, std::size_t source) {
    return std::vector<Piece>{{.begin = 0, .count = count, .first = first, .last = last, .source = source}};
  };
  const auto from_each = [&](std::size_t source) {
    std::vector<Piece> pieces;
    for (int r = 0; r < workload.ranks; ++r) {
      pieces.push_back(
          {.begin = static_cast<std::size_t>(r) * count, .count = count, .first = r, .last = r, .source = source});
    }
    return pieces;
  };
  switch (workload.op) {
    case Op::allreduce:
      return one(0, workload.ranks - 1, 0);
    case Op::allgather:
      return from_each(0);
    case Op::broadcast:
      return one(0, 0, 0);
    case Op::reduce_scatter:
      return one(0, workload.ranks - 1, mine);
    case Op::alltoall:
      return from_each(mine);
    case Op::gather:
      return rank == 0 ? from_each(0) : std::vector<Piece>{};
    case Op::scatter:
      return one(0, 0, mine);
    case Op::message: {
      const std::optional<int> partner = workload.partner(rank);
      return partner ? one(*partner, *partner, 0) : std::vector<Piece>{};
    }
    case Op::barrier:
      break;
  }
  return {};
}

/// Whether a rank's input has a block for every rank.
bool has_input_of_all(Op op) noexcept { return op == Op::reduce_scatter || op == Op::alltoall || op == Op::scatter; }

std::uint32_t wanted(const Piece& piece, std::size_t position) noexcept {
  std::uint32_t sum = 0;
  for (int from = piece.first; from <= piece.last; ++from) sum += value_of(from, piece.source + position);
  return sum;
}

/// Whether all elements of a piece are right: one loop without exits, which the compiler makes fast.
template <typename Codec>
bool is_right(const Piece& piece, const typename Codec::Bits* elements) noexcept {
  bool right = true;
  for (std::size_t i = 0; i < piece.count; ++i) right &= elements[i] == Codec::encode(wanted(piece, i));
  return right;
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
  return std::max<std::size_t>(has_input_of_all(op) ? elements / static_cast<std::size_t>(ranks) : elements, 1);
}

std::size_t Workload::input_count() const noexcept {
  if (op == Op::broadcast) return 0;  // uses the output buffer only
  return has_input_of_all(op) ? count() * static_cast<std::size_t>(ranks) : count();
}

std::size_t Workload::output_count() const noexcept {
  const bool of_all = op == Op::allgather || op == Op::alltoall || op == Op::gather;
  return of_all ? count() * static_cast<std::size_t>(ranks) : count();
}

std::optional<int> Workload::partner(int rank) const noexcept {
  const int neighbour = rank ^ 1;
  return neighbour < ranks ? std::optional(neighbour) : std::nullopt;
}

void spoil_output(const Workload& workload, void* output) {
  // With all bits set, an element is not a whole number in any type.
  std::memset(output, 0xFF, workload.output_bytes());
}

void fill_input(const Workload& workload, int rank, void* input, void* output) {
  const bool is_root = workload.op == Op::broadcast && rank == 0;
  visit(workload.type, [&]<typename Codec>(Codec) {
    auto* elements = static_cast<typename Codec::Bits*>(is_root ? output : input);
    const std::size_t count = is_root ? workload.output_count() : workload.input_count();
    for (std::size_t i = 0; i < count; ++i) elements[i] = Codec::encode(value_of(rank, i));
  });
}

std::string check(const Workload& workload, int rank, const void* output) {
  return visit(workload.type, [&]<typename Codec>(Codec) -> std::string {
    for (const Piece& piece : pieces_of(workload, rank)) {
      const auto* elements = static_cast<const typename Codec::Bits*>(output) + piece.begin;
      if (is_right<Codec>(piece, elements)) continue;
      std::size_t i = 0;
      while (i + 1 < piece.count && elements[i] == Codec::encode(wanted(piece, i))) ++i;
      return "element " + std::to_string(piece.begin + i) + " is " + std::to_string(Codec::decode(elements[i])) +
             " instead of " + std::to_string(wanted(piece, i));
    }
    return {};
  });
}

}  // namespace tutti::bench

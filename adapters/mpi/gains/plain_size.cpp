#include "gains/plain_size.hpp"

#include "mpi_handles.hpp"

namespace tutti::adapters::mpi {
namespace {

using mpi_table::Arguments;

/// Columns of the side that has the size.
struct Side {
  int count;
  int type;
};

/// Sum of the counts of all ranks, or -1 if one is negative.
std::int64_t sum_of(const Arguments& arguments, int at, int ranks) noexcept {
  std::int64_t sum = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t count = arguments.count(at, rank);
    if (count < 0) return -1;
    sum += count;
  }
  return sum;
}

}  // namespace

std::optional<PlainSize> plain_size(mpi_table::Row row, OpKind kind, const Arguments& arguments, int rank,
                                    int ranks) noexcept {
  const mpi_table::Columns& at = mpi_table::function(row).at;
  const Side send{at.count, at.type};
  const Side receive{at.in_count, at.in_type};
  Side side = send;
  bool is_sum = false;
  std::int64_t blocks = 1;
  switch (kind) {
    case OpKind::broadcast:
    case OpKind::allreduce:
    case OpKind::reduce:
      break;
    case OpKind::reduce_scatter:
      blocks = ranks;
      break;
    case OpKind::reduce_scatterv:
      is_sum = true;
      break;
    case OpKind::allgather:
    case OpKind::alltoall:
      side = receive;
      blocks = ranks;
      break;
    case OpKind::allgatherv:
      side = receive;
      is_sum = true;
      break;
    case OpKind::gather:
    case OpKind::scatter:
      // The root may send or receive in place; its other side has the size.
      if ((kind == OpKind::gather) == (arguments.integer(at.root) == rank)) side = receive;
      blocks = ranks;
      break;
    default:
      return std::nullopt;
  }
  const PredefinedType type = predefined_type(arguments.type(side.type));
  const std::int64_t count = is_sum ? sum_of(arguments, side.count, ranks) : arguments.count(side.count);
  if (type.bytes == 0 || count < 0) return std::nullopt;
  PlainSize size{.bytes = static_cast<std::uint64_t>(count * blocks) * type.bytes};
  if (traits(kind).reduces) size.types = type_class(kind, type.number);
  return size;
}

}  // namespace tutti::adapters::mpi

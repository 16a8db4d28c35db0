#include "mpi/recorded_operation.hpp"

#include <algorithm>
#include <array>

#include "base/mpi/handle_table.hpp"
#include "mpi/mpi_types.hpp"

namespace tutti::profiling::mpi {

namespace {

using mpi_table::Columns;
using mpi_table::Function;

struct OperationRow {
  const char* open_mpi;
  Word mpich;
  Reduction reduction;
};
constexpr std::array kReductions = {
#define TUTTI_MPI_OPERATION(open_mpi, mpich, reduction) OperationRow{open_mpi, mpich, Reduction::reduction},
#include "base/mpi/mpi_operations.def"
};

/// The reduction of a predefined operation; sum for others, which move the same data.
Reduction reduction_of(Word handle) noexcept {
  static const std::array<Word, kReductions.size()> handles = [] {
    std::array<Word, kReductions.size()> found{};
    for (std::size_t i = 0; i < found.size(); ++i)
      found[i] = abi().wide_handles ? mpi_table::address_of(kReductions[i].open_mpi) : kReductions[i].mpich;
    return found;
  }();
  const auto* const place = std::ranges::find(handles, handle);
  return place == handles.end() ? Reduction::sum
                                : kReductions[static_cast<std::size_t>(place - handles.begin())].reduction;
}

std::uint64_t positive(std::int64_t count) noexcept { return count > 0 ? static_cast<std::uint64_t>(count) : 0; }

}  // namespace

/// tutti's type for elements of an MPI type, if both types of the call are the same to it; otherwise bytes.
RecordedOperation::Element RecordedOperation::element_of(Word type, Word other) noexcept {
  const TypeFacts facts = type_facts(type);
  const auto own = parse_data_type(type_name(facts.name));
  const bool is_same = other == type || other == abi().type_null || type_facts(other).name == facts.name;
  if (own && is_same) return {*own, 1};
  return {DataType::uint8, positive(facts.size)};
}

void RecordedOperation::take_list(std::vector<std::uint64_t>& list, const Arguments& arguments, int at, int ranks,
                                  std::uint64_t scale) {
  list.resize(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank)
    list[static_cast<std::size_t>(rank)] = positive(arguments.count(at, rank)) * scale;
}

void RecordedOperation::take_reduction(const Arguments& arguments, int at) noexcept {
  seen_.reduction = reduction_of(arguments.operation(at));
  if (!is_defined(seen_.reduction, seen_.type)) seen_.reduction = Reduction::sum;
}

bool RecordedOperation::take_collective(mpi_table::Row row, const Arguments& arguments,
                                        const Communicator& communicator) noexcept {
  const Function& function = mpi_table::function(row);
  const auto kind = parse_op_kind(function.operation);
  if (!kind || communicator.remote_size > 0) return false;
  seen_ = {.kind = *kind, .async = function.at.request >= 0};
  if (function.at.root >= 0) seen_.root = arguments.integer(function.at.root);
  try {
    return take_shape(function, arguments, communicator);
  } catch (...) {
    return false;  // no memory for the counts
  }
}

bool RecordedOperation::take_shape(const Function& function, const Arguments& arguments,
                                   const Communicator& communicator) {
  const Columns& at = function.at;
  if (at.type < 0) return seen_.kind == OpKind::barrier;
  const bool in_place = arguments.is_in_place(0);
  const bool is_root = at.root < 0 || seen_.root == communicator.group_rank;
  const Word sent = arguments.type(at.type);
  const Word received = at.in_type < 0 ? abi().type_null : arguments.type(at.in_type);
  // Of an operation with a root only the root knows both types.
  const bool knows_both = at.in_type >= 0 && at.root < 0 && !in_place;
  const Place place{communicator.group_size, static_cast<std::size_t>(communicator.group_rank), in_place, is_root};
  switch (seen_.kind) {
    case OpKind::allreduce:
    case OpKind::reduce:
    case OpKind::broadcast:
    case OpKind::reduce_scatter:
    case OpKind::reduce_scatterv:
      take_common(at, arguments, place, element_of(sent, abi().type_null));
      return true;
    case OpKind::allgather:
    case OpKind::gather:
    case OpKind::alltoall:
      take_blocks(in_place ? at.in_count : at.count, arguments,
                  in_place ? element_of(received, received) : element_of(sent, knows_both ? received : sent));
      seen_.in_place = in_place && seen_.kind == OpKind::allgather;
      return true;
    case OpKind::scatter:
      take_blocks(is_root ? at.count : at.in_count, arguments,
                  is_root ? element_of(sent, sent) : element_of(received, received));
      return true;
    case OpKind::allgatherv:
    case OpKind::gatherv: {
      const Element whole = is_root ? element_of(received, knows_both ? sent : received) : Element{};
      take_gathered(at, arguments, place, whole, in_place ? whole : element_of(sent, knows_both ? received : sent));
      return true;
    }
    case OpKind::scatterv:
      take_scattered(at, arguments, place, is_root ? element_of(sent, sent) : element_of(received, received));
      return true;
    case OpKind::alltoallv: {
      const Element into = element_of(received, in_place ? received : sent);
      const Element from = in_place ? into : element_of(sent, received);
      seen_.type = from.type;
      take_list(out_, arguments, at.in_count, place.ranks, into.scale);
      take_list(in_, arguments, in_place ? at.in_count : at.count, place.ranks, from.scale);
      return true;
    }
    case OpKind::send:
    case OpKind::recv:
    case OpKind::barrier:
      break;
  }
  return false;
}

/// Operations that have one type and the same counts on all ranks.
void RecordedOperation::take_common(const Columns& at, const Arguments& arguments, const Place& place,
                                    const Element& element) {
  seen_.type = element.type;
  if (seen_.kind == OpKind::reduce_scatterv) {
    take_list(in_, arguments, at.count, place.ranks, element.scale);
    seen_.count = in_[place.rank];
  } else {
    seen_.count = positive(arguments.count(at.count)) * element.scale;
  }
  seen_.in_place = place.in_place && at.root < 0;
  if (seen_.kind != OpKind::broadcast) take_reduction(arguments, at.type + 1);
}

void RecordedOperation::take_blocks(int count, const Arguments& arguments, const Element& element) noexcept {
  seen_.type = element.type;
  seen_.count = positive(arguments.count(count)) * element.scale;
}

void RecordedOperation::take_gathered(const Columns& at, const Arguments& arguments, const Place& place,
                                      const Element& whole, const Element& own) {
  seen_.type = own.type;
  if (place.is_root) take_list(out_, arguments, at.in_count, place.ranks, whole.scale);
  seen_.count = place.in_place ? out_[place.rank] : positive(arguments.count(at.count)) * own.scale;
  seen_.in_place = place.in_place && seen_.kind == OpKind::allgatherv;
}

void RecordedOperation::take_scattered(const Columns& at, const Arguments& arguments, const Place& place,
                                       const Element& element) {
  seen_.type = element.type;
  if (place.is_root) take_list(in_, arguments, at.count, place.ranks, element.scale);
  seen_.count = place.is_root ? in_[place.rank] : positive(arguments.count(at.in_count)) * element.scale;
}

void RecordedOperation::take_message(OpKind kind, const Arguments& arguments, int count, int type, int peer, int tag,
                                     bool& is_null) noexcept {
  const int other = arguments.integer(peer);
  is_null = other == abi().proc_null;
  seen_ = {.kind = kind, .root = other, .tag = arguments.integer(tag)};
  if (is_null) return;
  if (other < 0) seen_.root = replay::kAny;
  if (seen_.tag < 0) seen_.tag = replay::kAny;
  const Element element = element_of(arguments.type(type), abi().type_null);
  seen_.type = element.type;
  seen_.count = positive(arguments.count(count)) * element.scale;
}

}  // namespace tutti::profiling::mpi

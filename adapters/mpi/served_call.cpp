#include "served_call.hpp"

#include "progress.hpp"

namespace tutti::adapters::mpi {
namespace {

bool is_gathering(OpKind kind) {
  return kind == OpKind::allgather || kind == OpKind::allgatherv || kind == OpKind::gather || kind == OpKind::gatherv;
}
bool is_scattering(OpKind kind) { return kind == OpKind::scatter || kind == OpKind::scatterv; }

}  // namespace

ServedCall::ServedCall(Row row, const Arguments& arguments, const Group& group) noexcept
    : row_(row), arguments_(arguments), at_(mpi_table::function(row).at), group_(group), kind_(*kind_of(row)) {}

bool ServedCall::read_side(Side& side, int buffer, int type) noexcept {
  side.is_in_place = arguments_.is_in_place(buffer);
  side.data = arguments_.buffer(buffer);
  return side.is_in_place || Layout::read(arguments_.type(type), side.layout);
}

std::int64_t ServedCall::count_of(const Side& side, int rank) const noexcept {
  return side.is_array ? arguments_.count(side.count, rank) : arguments_.count(side.count);
}

bool ServedCall::has_valid_counts(const Side& side, bool is_of_all) const noexcept {
  if (side.is_in_place) return true;
  if (!side.is_array) return arguments_.count(side.count) >= 0;
  if (arguments_.is_null(side.count) || (side.displacements >= 0 && arguments_.is_null(side.displacements)))
    return false;
  for (int rank = 0; is_of_all && rank < group_.size(); ++rank)
    if (count_of(side, rank) < 0) return false;
  return true;
}

bool ServedCall::read_reduction() noexcept {
  const PredefinedType type = predefined_type(arguments_.type(at_.type));
  const std::optional<Reduction> reduction = predefined_reduction(arguments_.operation(at_.type + 1));
  if (type.bytes == 0 || !reduction || !is_defined(*reduction, type.type_class)) return false;
  number_ = type.number;
  reduction_ = *reduction;
  constexpr int kSend = 0;
  constexpr int kReceive = 1;
  send_.data = arguments_.buffer(kSend);
  send_.count = at_.count;
  send_.is_in_place = arguments_.is_in_place(kSend);
  send_.layout = {.type = 0, .bytes = type.bytes, .extent = type.bytes, .is_contiguous = true};
  send_.is_array = kind_ == OpKind::reduce_scatterv;
  receive_ = send_;
  receive_.data = arguments_.buffer(kReceive);
  return true;
}

ServedCall::Judgement ServedCall::read() noexcept {
  using enum Judgement;
  if (kind_ == OpKind::barrier) return suitable;
  if (at_.root >= 0) {
    root_ = arguments_.integer(at_.root);
    if (root_ < 0 || root_ >= group_.size()) return wrong_arguments;
  }
  if (traits(kind_).reduces) {
    if (!read_reduction()) return other_type;
    const Side counted = {.count = send_.count, .is_array = send_.is_array};  // also if it is in place
    return has_valid_counts(counted, true) ? suitable : wrong_arguments;
  }
  const bool is_rooted = at_.root >= 0;
  send_.count = at_.count;
  receive_.count = at_.in_count;
  receive_.is_array = kind_ == OpKind::allgatherv || kind_ == OpKind::gatherv || kind_ == OpKind::alltoallv;
  send_.is_array = kind_ == OpKind::scatterv || kind_ == OpKind::alltoallv;
  if (receive_.is_array) receive_.displacements = at_.in_count + 1;
  if (send_.is_array) send_.displacements = at_.count + 1;
  if (kind_ == OpKind::broadcast)
    return read_side(send_, 0, at_.type) && has_valid_counts(send_, false) ? suitable : wrong_arguments;
  send_.is_used = !is_rooted || !is_scattering(kind_) || is_root();
  receive_.is_used = !is_rooted || !is_gathering(kind_) || is_root();
  if (send_.is_used && (!read_side(send_, 0, at_.type) || !has_valid_counts(send_, true))) return wrong_arguments;
  const int receive_buffer = at_.in_count - 1;
  if (receive_.is_used && (!read_side(receive_, receive_buffer, at_.in_type) || !has_valid_counts(receive_, true)))
    return wrong_arguments;
  // MPI_IN_PLACE stands for the side with one block; for both sides of an exchange.
  const bool may_send_in_place = receive_.is_used && !is_scattering(kind_) && (!is_rooted || is_root());
  const bool may_receive_in_place = is_scattering(kind_) && is_root();
  if ((send_.is_used && send_.is_in_place && !may_send_in_place) ||
      (receive_.is_used && receive_.is_in_place && !may_receive_in_place))
    return wrong_arguments;
  return suitable;
}

std::uint64_t ServedCall::block_bytes(const Side& side) const noexcept {
  return static_cast<std::uint64_t>(count_of(side, 0)) * side.layout.bytes;
}

std::uint64_t ServedCall::all_bytes(const Side& side) const noexcept {
  std::uint64_t sum = 0;
  for (int rank = 0; rank < group_.size(); ++rank) sum += static_cast<std::uint64_t>(count_of(side, rank));
  return sum * side.layout.bytes;
}

std::vector<int> ServedCall::arrays() const {
  std::vector<int> positions;
  for (const Side* side : {&send_, &receive_}) {
    const bool is_read = side->is_used && (!side->is_in_place || traits(kind_).reduces);
    if (!is_read || !side->is_array) continue;
    positions.push_back(side->count);
    if (side->displacements >= 0) positions.push_back(side->displacements);
  }
  return positions;
}

bool ServedCall::has_derived_types() const noexcept {
  const auto is_derived = [](const Side& side) { return side.layout.type != 0 && !side.layout.is_contiguous; };
  return is_derived(send_) || is_derived(receive_);
}

bool ServedCall::keep_types() noexcept {
  const bool has_send = Layout::keep(send_.layout);
  return Layout::keep(receive_.layout) && has_send;
}

void ServedCall::drop_types() noexcept {
  Layout::drop(send_.layout);
  Layout::drop(receive_.layout);
}

std::optional<std::uint64_t> ServedCall::common_bytes() const noexcept {
  if (is_unsized(kind_)) return std::nullopt;
  const auto ranks = static_cast<std::uint64_t>(group_.size());
  switch (kind_) {
    case OpKind::broadcast:
    case OpKind::allreduce:
    case OpKind::reduce:
      return block_bytes(send_);
    case OpKind::reduce_scatter:
      return ranks * block_bytes(send_);
    case OpKind::gather:
      return ranks * block_bytes(is_root() ? receive_ : send_);
    case OpKind::scatter:
      return ranks * block_bytes(is_root() ? send_ : receive_);
    case OpKind::reduce_scatterv:
      return all_bytes(send_);
    case OpKind::allgatherv:
      return all_bytes(receive_);
    default:
      return ranks * block_bytes(receive_);
  }
}

void ServedCall::run(const Communicator& communicator) const {
  if (kind_ == OpKind::barrier) {
    complete(communicator.barrier({.async = true}));
  } else if (kind_ == OpKind::broadcast) {
    run_broadcast(communicator);
  } else if (traits(kind_).reduces) {
    run_reduction(communicator);
  } else if (is_gathering(kind_)) {
    run_gathering(communicator);
  } else if (is_scattering(kind_)) {
    run_scattering(communicator);
  } else {
    run_exchange(communicator);
  }
}

}  // namespace tutti::adapters::mpi

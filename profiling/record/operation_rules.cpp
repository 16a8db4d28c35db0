#include "record/operation_rules.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "record/record_text.hpp"

namespace tutti::replay {

namespace {

std::uint64_t sum(const std::vector<std::uint64_t>& counts) noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::uint64_t elements(Extent extent, const RecordedOperation& op, const std::vector<std::uint64_t>& list,
                       int size) noexcept {
  switch (extent) {
    case Extent::none:
      return 0;
    case Extent::block:
      return op.count;
    case Extent::blocks:
      return op.count * static_cast<std::uint64_t>(size);
    case Extent::vector:
      break;
  }
  return sum(list);
}

void check_lists(const RecordedOperation& op, int size) {
  const OpTraits& row = traits(op.kind);
  for (const auto* list : {&op.in, &op.out}) {
    if (!list->empty() && list->size() != static_cast<std::size_t>(size))
      throw LineError("a list has " + std::to_string(list->size()) + " counts for " + std::to_string(size) + " ranks");
  }
  const bool lacks_list =
      (row.input == Extent::vector && op.in.empty()) || (row.output == Extent::vector && op.out.empty());
  if (!row.rooted && lacks_list) throw LineError(std::string(row.name) + " has no list of counts");
}

}  // namespace

void check_operation(const RecordedOperation& op, int size) {
  const OpTraits& row = traits(op.kind);
  if (size == 0 && is_message(op.kind)) throw LineError("a record of any number of ranks has no messages");
  if (size == 0 && is_vector(op.kind))
    throw LineError("a record of any number of ranks has no operations with counts per rank");
  if (row.rooted && size != 0 && op.root >= size)
    throw LineError("rank " + std::to_string(op.root) + " is not in the communicator of " + std::to_string(size) +
                    " ranks");
  check_lists(op, size);
  const bool has_both = row.input != Extent::none && row.output != Extent::none;
  if (op.in_place && (row.rooted || !has_both || op.kind == OpKind::alltoall || op.kind == OpKind::alltoallv))
    throw LineError(std::string(row.name) + " is never in_place");
  if (row.reduces && !is_defined(op.reduction, op.type))
    throw LineError(std::string(name(op.reduction)) + " is not defined for " + std::string(name(op.type)));
  if (op.prescale != 1 && !is_floating(op.type))
    throw LineError("a scale is not defined for " + std::string(name(op.type)));
  std::uint64_t all = op.count;
  for (const auto* list : {&op.in, &op.out}) {
    for (const std::uint64_t count : *list) all = all > UINT64_MAX - count ? UINT64_MAX : all + count;
  }
  const auto blocks = static_cast<std::uint64_t>(std::max(size, 1));
  if (all > (std::uint64_t{1} << 50) / blocks / tutti::size_of(op.type)) throw LineError("the count is too large");
}

std::uint64_t input_elements(const RecordedOperation& op, int rank, int size) noexcept {
  const OpTraits& row = traits(op.kind);
  if (row.input_root_only && rank != op.root) return 0;
  return elements(row.input, op, op.in, size);
}

std::uint64_t output_elements(const RecordedOperation& op, int rank, int size) noexcept {
  const OpTraits& row = traits(op.kind);
  if (row.output_root_only && rank != op.root) return 0;
  return elements(row.output, op, op.out, size);
}

std::uint64_t bytes_of(const RecordedOperation& op, int size) noexcept {
  const OpTraits& row = traits(op.kind);
  const std::uint64_t in = std::max(elements(row.input, op, op.in, size), row.input == Extent::vector ? op.count : 0);
  const std::uint64_t out =
      std::max(elements(row.output, op, op.out, size), row.output == Extent::vector ? op.count : 0);
  return std::max(in, out) * tutti::size_of(op.type);
}

}  // namespace tutti::replay

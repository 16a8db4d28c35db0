#include "negotiation/message_table.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

namespace tutti::horovod {

namespace {

/// "allreduce(gatherv)": the operation of a request as messages name it.
std::string operation_of(const Request& request) {
  if (request.kind == MessageKind::call) return std::string(name(request.op));
  return std::string(name(request.kind));
}

[[nodiscard]] bool has_equal_shapes(const Request& request) {
  return request.kind != MessageKind::allgather && request.kind != MessageKind::alltoall;
}

std::string shape_disagreement(const Request& one, const Request& other) {
  const std::string begin = "Mismatched " + operation_of(one) + " tensor shapes: One rank sent a tensor ";
  if (has_equal_shapes(one)) {
    if (one.shape == other.shape) return {};
    return begin + "of shape " + describe_shape(one.shape) + ", but another rank sent a tensor of shape " +
           describe_shape(other.shape) + ".";
  }
  if (one.shape.size() != other.shape.size()) {
    return begin + "of rank " + std::to_string(one.shape.size()) + ", but another rank sent a tensor of rank " +
           std::to_string(other.shape.size()) + ".";
  }
  for (std::size_t i = 1; i < one.shape.size(); ++i) {
    if (one.shape[i] == other.shape[i]) continue;
    const std::string dimension = "with dimension " + std::to_string(i) + " equal to ";
    return begin + dimension + std::to_string(one.shape[i]) + ", but another rank sent a tensor " + dimension +
           std::to_string(other.shape[i]) + ".";
  }
  return {};
}

std::string factors(const Request& request) {
  std::ostringstream text;
  text << "(" << request.prescale << ", " << request.postscale << ")";
  return text.str();
}

/// "CPU" or "GPU", as upstream, or the module if both are on a device.
std::string device_of(const Request& request, const Request& other) {
  if (request.memory.empty()) return "CPU";
  return other.memory.empty() ? "GPU" : request.memory;
}

[[nodiscard]] bool takes_join(MessageKind kind) {
  return kind == MessageKind::allreduce || kind == MessageKind::barrier || kind == MessageKind::adasum;
}

/// Upstream's text for an operation that a rank which has joined cannot take part in.
std::string join_refusal(const Request& request) {
  switch (request.kind) {
    case MessageKind::allgather:
      return "Allgather is not supported with Join at this time. Specify sparse_to_dense=True if using "
             "DistributedOptimizer";
    case MessageKind::broadcast:
      return "Broadcast is not supported with Join at this time.";
    case MessageKind::alltoall:
      return "Alltoall is not supported with Join at this time.";
    case MessageKind::reducescatter:
      return "Reducescatter is not supported with Join at this time.";
    default:
      return operation_of(request) + " is not supported with Join at this time.";
  }
}

/// Upstream's text for a request that no agreement makes possible; empty if there is no such reason.
std::string malformation(const Request& request, std::size_t size) {
  if (has_equal_shapes(request)) return {};
  if (request.shape.empty()) return "Rank zero tried to " + operation_of(request) + " a rank-zero tensor.";
  if (request.kind == MessageKind::alltoall && request.splits.size() != size) {
    return "Alltoall expects " + std::to_string(size) + " splits, one for each rank, but got " +
           std::to_string(request.splits.size()) + ".";
  }
  return {};
}

}  // namespace

std::string disagreement(const Request& one, const Request& other) {
  if (one.type != other.type) {
    return "Mismatched data types: One rank had type " + std::string(tutti::name(one.type)) +
           ", but another rank had type " + std::string(tutti::name(other.type)) + ".";
  }
  if (one.kind != other.kind || one.op != other.op) {
    return "Mismatched operations: One rank did an " + operation_of(one) + ", but another rank did an " +
           operation_of(other) + ".";
  }
  if (std::string shapes = shape_disagreement(one, other); !shapes.empty()) return shapes;
  if (one.memory != other.memory) {
    return "Mismatched " + operation_of(one) + " CPU/GPU device selection: One rank specified device " +
           device_of(one, other) + ", but another rank specified device " + device_of(other, one) + ".";
  }
  if (one.prescale != other.prescale || one.postscale != other.postscale) {
    return "Mismatched prescale and/or postscale factors: One rank sent factors " + factors(one) +
           ", but another rank sent factors " + factors(other) + ".";
  }
  if (one.reduction != other.reduction) {
    return "Mismatched reduction operations: One rank specified " + std::string(tutti::name(one.reduction)) +
           ", but another rank specified " + std::string(tutti::name(other.reduction)) + ".";
  }
  if (one.root != other.root) {
    return "Mismatched " + operation_of(one) + " root ranks: One rank specified root rank " + std::to_string(one.root) +
           ", but another rank specified root rank " + std::to_string(other.root) + ".";
  }
  if (one.priority != other.priority) {
    return "Mismatched priorities: One rank specified priority " + std::to_string(one.priority) +
           ", but another rank specified priority " + std::to_string(other.priority) + ".";
  }
  if (one.group != other.group || one.group_size != other.group_size) {
    return "Mismatched groups: One rank sent the tensor in a group of " + std::to_string(one.group_size) +
           ", but another rank sent it in a group of " + std::to_string(other.group_size) + ".";
  }
  return {};
}

void MessageTable::add(int rank, Request request) {
  const std::size_t size = joined_.size();
  const auto [place, is_new] = by_name_.try_emplace(request.name);
  if (is_new) {
    rows_.push_back({.first = request, .ranks = std::vector<bool>(size, false), .sizes = {}, .error = {}});
    place->second = std::prev(rows_.end());
    place->second->joined = joined_count_;
  }
  Row& row = *place->second;
  const auto index = static_cast<std::size_t>(rank);
  if (row.error.empty()) row.error = disagreement(row.first, request);
  if (row.error.empty()) row.error = malformation(request, size);
  if (row.error.empty() && !has_equal_shapes(request)) {
    const bool gathers = request.kind == MessageKind::allgather;
    row.sizes.resize(gathers ? size : size * size);
    if (gathers) row.sizes[index] = request.shape.front();
    for (std::size_t to = 0; !gathers && to < size; ++to) row.sizes[index * size + to] = request.splits[to];
  }
  row.ranks[index] = true;
  ++row.submitted;
  if (joined_[index]) --row.joined;
  complete_if_ready(place->second);
}

void MessageTable::join(int rank) {
  joined_[static_cast<std::size_t>(rank)] = true;
  ++joined_count_;
  last_joined_ = rank;
  for (auto row = rows_.begin(); row != rows_.end();) {
    const auto current = row++;
    if (!current->ranks[static_cast<std::size_t>(rank)]) ++current->joined;
    complete_if_ready(current);
  }
}

int MessageTable::take_joined() {
  std::fill(joined_.begin(), joined_.end(), false);
  joined_count_ = 0;
  return std::exchange(last_joined_, -1);
}

void MessageTable::complete_if_ready(Rows::iterator row) {
  if (row->submitted + row->joined < static_cast<int>(joined_.size())) return;
  by_name_.erase(row->first.name);
  complete_.splice(complete_.end(), rows_, row);
}

std::vector<Response> MessageTable::take_complete() {
  std::vector<Response> responses;
  responses.reserve(complete_.size());
  for (Row& row : complete_) responses.push_back(decide(row));
  complete_.clear();
  return responses;
}

Response MessageTable::decide(Row& row) const {
  Request& request = row.first;
  Response response;
  if (row.error.empty() && row.joined > 0 && !takes_join(request.kind)) row.error = join_refusal(request);
  response.kind = row.error.empty() ? request.kind : MessageKind::error;
  response.error = std::move(row.error);
  response.type = request.type;
  response.reduction = request.reduction;
  response.op = request.op;
  // A rank that has joined has no tensor to compare with: upstream does not cache such responses either.
  response.cacheable = request.cacheable && row.joined == 0;
  response.root = request.root;
  response.group_size = request.group_size;
  response.priority = request.priority;
  response.asked_priority = request.priority;
  response.prescale = request.prescale;
  response.postscale = request.postscale;
  response.counts.push_back(request.elements());
  response.row_counts.push_back(request.row_elements());
  response.names.push_back(std::move(request.name));
  response.group = std::move(request.group);
  response.memory = std::move(request.memory);
  response.has_joined = row.joined > 0;
  response.shape = std::move(request.shape);
  response.sizes = std::move(row.sizes);
  if (response.kind == MessageKind::reducescatter)
    response.sizes.assign(1, response.shape.empty() ? 1 : response.shape.front());
  return response;
}

std::vector<MessageTable::Incomplete> MessageTable::incomplete() const {
  std::vector<Incomplete> all;
  for (const Row& row : rows_) {
    Incomplete& one = all.emplace_back();
    one.name = row.first.name;
    for (std::size_t rank = 0; rank < joined_.size(); ++rank) {
      if (!row.ranks[rank] && !joined_[rank]) one.missing.push_back(static_cast<int>(rank));
    }
  }
  return all;
}

}  // namespace tutti::horovod

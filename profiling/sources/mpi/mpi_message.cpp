#include "mpi/mpi_message.hpp"

#include <algorithm>

#include "mpi/mpi_types.hpp"

namespace tutti::profiling::mpi {

namespace {

using mpi_table::Columns;
using mpi_table::Function;
using mpi_table::Shape;

std::uint64_t product(std::int64_t count, std::int64_t size) noexcept {
  return count <= 0 || size <= 0 ? 0 : static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

// A pair of columns: counts and types of what is sent, or of what is received.
struct Part {
  int count;
  int type;
};

class Measure {
 public:
  explicit Measure(const Arguments& arguments) noexcept : arguments_(arguments) {}

  Message each(Part part, int blocks = 1) const noexcept {
    const TypeFacts type = type_of(part);
    const std::int64_t count = part.count < 0 ? 1 : arguments_.count(part.count);
    return {product(count, type.size) * static_cast<std::uint64_t>(std::max(blocks, 0)), type.name};
  }
  Message one_of(Part part, int index) const noexcept {
    const TypeFacts type = type_of(part);
    return {product(arguments_.count(part.count, index), type.size), type.name};
  }
  Message sum(Part part, int blocks) const noexcept {
    const TypeFacts type = type_of(part);
    Message message{0, type.name};
    for (int block = 0; block < blocks; ++block)
      message.bytes += product(arguments_.count(part.count, block), type.size);
    return message;
  }
  Message sum_of_types(Part part, int blocks) const noexcept {
    Message message;
    for (int block = 0; block < blocks; ++block) {
      const std::int64_t count = arguments_.count(part.count, block);
      if (count <= 0) continue;  // its type may be invalid
      const TypeFacts type = type_facts(arguments_.type(part.type, block));
      message.bytes += product(count, type.size);
      if (type.name != 0) message.type = type.name;
    }
    return message;
  }

 private:
  TypeFacts type_of(Part part) const noexcept { return type_facts(arguments_.type(part.type)); }

  const Arguments& arguments_;
};

// Part of this rank in a collective with a root.
enum class Side : std::uint8_t { root, other, outside };

Side side_of(const Columns& at, const Arguments& arguments, const Communicator& communicator) noexcept {
  if (at.root < 0) return Side::other;
  const int root = arguments.integer(at.root);
  if (communicator.remote_size == 0) return root == communicator.group_rank ? Side::root : Side::other;
  if (root == abi().root) return Side::root;
  return root == abi().proc_null ? Side::outside : Side::other;
}

}  // namespace

Message message_of(const Function& function, const Arguments& arguments, Communicator* communicator,
                   Word handle) noexcept {
  const Columns& at = function.at;
  if (at.type < 0) return {};
  if (at.peer >= 0 && arguments.integer(at.peer) == abi().proc_null) return {};
  const Measure measure(arguments);
  const Part sent{at.count, at.type};
  const Part received{at.in_count, at.in_type};
  if (function.kind != mpi_table::FunctionKind::collective) return measure.each(sent);
  if (communicator == nullptr) return {};

  const Side side = side_of(at, arguments, *communicator);
  if (side == Side::outside) return {};
  const bool is_inter = communicator->remote_size > 0;
  const int peers = communicator->peers();
  const auto is_in_place = [&] { return !is_inter && arguments.is_in_place(0); };
  switch (at.shape) {
    case Shape::simple:
      return measure.each(sent);
    case Shape::per_rank:
      // Reduce_scatter_block: the blocks belong to the own group also on an inter-communicator.
      return measure.each(at.in_count >= 0 && is_in_place() ? received : sent,
                          at.in_count >= 0 ? peers : communicator->group_size);
    case Shape::vector:
      return measure.sum(at.in_count >= 0 && is_in_place() ? received : sent,
                         at.in_count >= 0 ? peers : communicator->group_size);
    case Shape::typed_vector:
      return measure.sum_of_types(is_in_place() ? received : sent, peers);
    case Shape::contribution:
      if (is_inter && side == Side::root) return {};
      return measure.each(is_in_place() ? received : sent);
    case Shape::contribution_v:
      if (is_inter && side == Side::root) return {};
      return is_in_place() ? measure.one_of(received, communicator->group_rank) : measure.each(sent);
    case Shape::scatter:
      return side == Side::root ? measure.each(sent, peers) : measure.each(received);
    case Shape::scatter_v:
      return side == Side::root ? measure.sum(sent, peers) : measure.each(received);
    case Shape::per_neighbor:
      return measure.each(sent, out_neighbors(*communicator, handle));
    case Shape::neighbor_vector:
      return measure.sum(sent, out_neighbors(*communicator, handle));
    case Shape::neighbor_typed_vector:
      return measure.sum_of_types(sent, out_neighbors(*communicator, handle));
  }
  return {};
}

}  // namespace tutti::profiling::mpi

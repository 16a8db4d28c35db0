#pragma once

#include <cstddef>

#include "mpi_api.hpp"
#include "mpi_types.hpp"
#include "tutti/spi/kernels.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::mpi {

/// Arguments that all calls on one communicator share.
struct Group {
  MPI_Comm comm;
  int rank;
  int size;
  const Types* types;
};

/// Counts and displacements of a vector form, in the integer types of the call.
template <typename Count, typename Displacement>
struct Vectors {
  const Count* input_counts = nullptr;
  const Displacement* input_displacements = nullptr;
  const Count* output_counts = nullptr;
  const Displacement* output_displacements = nullptr;
};

/// Two tags, so that messages of the application do not match messages into which an operation is split.
inline constexpr int kMessageTag = 1;
inline constexpr int kStepTag = 2;

namespace detail {
[[nodiscard]] inline const std::byte* at(const void* base, std::uint64_t bytes) noexcept {
  return static_cast<const std::byte*>(base) + bytes;
}
}  // namespace detail

/// Makes the MPI call of an operation, in the flavour of `calls`, and returns its code. In-place operations are
/// recognised by their pointers, as Communicator documents. reduce_scatter(v) must not be in-place here: MPI expects
/// the result at another place than tutti. `status` is that of a blocking recv.
template <typename Count, typename Displacement, typename... Tail>
[[gnu::always_inline]] inline int issue(const Calls<Count, Displacement, Tail...>& calls, const Group& group,
                                        const Operation& op, const Vectors<Count, Displacement>& vectors, int tag,
                                        MPI_Status* status, Tail... tail) {
  const MPI_Datatype type = group.types->datatype(op.type);
  const auto count = static_cast<Count>(op.count);
  const bool at_root = group.rank == op.root;
  const auto own = static_cast<std::size_t>(group.rank);
  const void* in = op.input;
  void* out = op.output;
  const auto reduction = [&] { return group.types->operation(op.reduction, op.type); };
  const auto own_block = [&](const void* base) { return detail::at(base, own * op.block_bytes()); };
  const auto vector_block = [&](const void* base, const Displacement* begins) {
    return detail::at(base, static_cast<std::uint64_t>(begins[own]) * size_of(op.type));
  };

  switch (op.kind) {
    case OpKind::allreduce:
      return calls.allreduce(in == out ? MPI_IN_PLACE : in, out, count, type, reduction(), group.comm, tail...);
    case OpKind::allgather:
      if (in == own_block(out)) in = MPI_IN_PLACE;
      return calls.allgather(in, count, type, out, count, type, group.comm, tail...);
    case OpKind::allgatherv:
      if (in == vector_block(out, vectors.output_displacements)) in = MPI_IN_PLACE;
      return calls.allgatherv(in, count, type, out, vectors.output_counts, vectors.output_displacements, type,
                              group.comm, tail...);
    case OpKind::reduce_scatter:
      return calls.reduce_scatter_block(in, out, count, type, reduction(), group.comm, tail...);
    case OpKind::reduce_scatterv:
      return calls.reduce_scatter(in, out, vectors.input_counts, type, reduction(), group.comm, tail...);
    case OpKind::broadcast:
      if (at_root) {
        if (out != in && out != nullptr) spi::copy(out, in, op.block_bytes(), false);
        out = const_cast<void*>(in);
      }
      return calls.broadcast(out, count, type, op.root, group.comm, tail...);
    case OpKind::reduce:
      if (at_root && in == out) in = MPI_IN_PLACE;
      return calls.reduce(in, at_root ? out : nullptr, count, type, reduction(), op.root, group.comm, tail...);
    case OpKind::gather:
      if (at_root && in == own_block(out)) in = MPI_IN_PLACE;
      return calls.gather(in, count, type, out, count, type, op.root, group.comm, tail...);
    case OpKind::gatherv:
      if (at_root && in == vector_block(out, vectors.output_displacements)) in = MPI_IN_PLACE;
      return calls.gatherv(in, count, type, out, vectors.output_counts, vectors.output_displacements, type, op.root,
                           group.comm, tail...);
    case OpKind::scatter:
      if (at_root && out == own_block(in)) out = MPI_IN_PLACE;
      return calls.scatter(in, count, type, out, count, type, op.root, group.comm, tail...);
    case OpKind::scatterv:
      if (at_root && out == vector_block(in, vectors.input_displacements)) out = MPI_IN_PLACE;
      return calls.scatterv(in, vectors.input_counts, vectors.input_displacements, type, out, count, type, op.root,
                            group.comm, tail...);
    case OpKind::alltoall:
      return calls.alltoall(in, count, type, out, count, type, group.comm, tail...);
    case OpKind::alltoallv:
      return calls.alltoallv(in, vectors.input_counts, vectors.input_displacements, type, out, vectors.output_counts,
                             vectors.output_displacements, type, group.comm, tail...);
    case OpKind::send:
      return calls.send(in, count, type, op.root, tag, group.comm, tail...);
    case OpKind::recv:
      if constexpr (sizeof...(Tail) == 0) {
        return calls.recv(out, count, type, op.root, tag, group.comm, status);
      } else {
        return calls.recv(out, count, type, op.root, tag, group.comm, tail...);
      }
    case OpKind::barrier:
      break;
  }
  return calls.barrier(group.comm, tail...);
}

}  // namespace tutti::mpi

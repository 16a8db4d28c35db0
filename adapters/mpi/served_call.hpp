#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/mpi/mpi_arguments.hpp"
#include "base/mpi/mpi_functions.hpp"
#include "groups.hpp"
#include "staging.hpp"

namespace tutti::adapters::mpi {

using mpi_table::Arguments;
using mpi_table::Row;

/// The operation of tutti that a function asks for, blocking or not; nothing: it is always passed on.
[[nodiscard]] constexpr std::optional<OpKind> kind_of(Row row) noexcept {
  switch (row) {
    case Row::Allgather:
    case Row::Iallgather:
      return OpKind::allgather;
    case Row::Allgatherv:
    case Row::Iallgatherv:
      return OpKind::allgatherv;
    case Row::Allreduce:
    case Row::Iallreduce:
      return OpKind::allreduce;
    case Row::Alltoall:
    case Row::Ialltoall:
      return OpKind::alltoall;
    case Row::Alltoallv:
    case Row::Ialltoallv:
      return OpKind::alltoallv;
    case Row::Barrier:
    case Row::Ibarrier:
      return OpKind::barrier;
    case Row::Bcast:
    case Row::Ibcast:
      return OpKind::broadcast;
    case Row::Gather:
    case Row::Igather:
      return OpKind::gather;
    case Row::Gatherv:
    case Row::Igatherv:
      return OpKind::gatherv;
    case Row::Reduce:
    case Row::Ireduce:
      return OpKind::reduce;
    case Row::Reduce_scatter:
    case Row::Ireduce_scatter:
      return OpKind::reduce_scatterv;
    case Row::Reduce_scatter_block:
    case Row::Ireduce_scatter_block:
      return OpKind::reduce_scatter;
    case Row::Scatter:
    case Row::Iscatter:
      return OpKind::scatter;
    case Row::Scatterv:
    case Row::Iscatterv:
      return OpKind::scatterv;
    default:
      return std::nullopt;
  }
}

/// A call that tutti may carry out: its arguments, understood.
class ServedCall {
 public:
  ServedCall(Row row, const Arguments& arguments, const Group& group) noexcept;

  /// Reads types and counts. Judges by facts that all ranks have, except for calls that are wrong.
  enum class Judgement : std::uint8_t { suitable, wrong_arguments, other_type };
  [[nodiscard]] Judgement read() noexcept;
  /// Bytes of the call as all ranks know them; nothing where a rank may know its own parts only.
  [[nodiscard]] std::optional<std::uint64_t> common_bytes() const noexcept;
  /// Class of its type in a tuning table.
  [[nodiscard]] tutti::TypeClass types() const noexcept { return tutti::type_class(kind_, number_); }
  /// Positions of the arrays of counts and displacements that the call reads, which have an element for each rank.
  [[nodiscard]] std::vector<int> arrays() const;
  [[nodiscard]] bool has_derived_types() const noexcept;
  /// For a call that outlives the types of the program: takes duplicates of its derived types; false if MPI makes none.
  [[nodiscard]] bool keep_types() noexcept;
  void drop_types() noexcept;
  /// Carries it out. Throws Error, std::bad_alloc.
  void run(const Communicator& communicator) const;

 private:
  /// Blocks of all ranks in a buffer of the program, or one block.
  struct Side {
    void* data = nullptr;
    Layout layout = {};
    int count = -1;          ///< position of the count or counts
    int displacements = -1;  ///< position; -1: packed
    bool is_array = false;
    bool is_in_place = false;
    bool is_used = true;
  };
  class Blocks;

  [[nodiscard]] bool read_reduction() noexcept;
  [[nodiscard]] bool read_side(Side& side, int buffer, int type) noexcept;
  [[nodiscard]] bool has_valid_counts(const Side& side, bool is_of_all) const noexcept;
  [[nodiscard]] std::int64_t count_of(const Side& side, int rank) const noexcept;
  [[nodiscard]] std::uint64_t block_bytes(const Side& side) const noexcept;
  /// Bytes of the blocks of all ranks, whose counts each rank has.
  [[nodiscard]] std::uint64_t all_bytes(const Side& side) const noexcept;
  [[nodiscard]] bool is_root() const noexcept { return root_ == group_.rank(); }

  void run_broadcast(const Communicator& communicator) const;
  void run_reduction(const Communicator& communicator) const;
  void run_reduce_scatter(const Communicator& communicator) const;
  void run_gathering(const Communicator& communicator) const;
  void run_scattering(const Communicator& communicator) const;
  void run_exchange(const Communicator& communicator) const;

  Row row_;
  Arguments arguments_;
  const mpi_table::Columns& at_;
  const Group& group_;
  OpKind kind_;
  int root_ = 0;
  Side send_;
  Side receive_;
  DataType number_ = DataType::uint8;
  Reduction reduction_ = Reduction::sum;
};

}  // namespace tutti::adapters::mpi

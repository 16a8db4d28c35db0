#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/mpi/mpi_arguments.hpp"
#include "base/mpi/mpi_functions.hpp"
#include "mpi/mpi_communicators.hpp"
#include "record/rank_writer.hpp"

namespace tutti::profiling::mpi {

/// An MPI call in the terms of tutti's operations. Counts of types that tutti lacks are bytes.
class RecordedOperation {
 public:
  /// A collective. False if tutti has no such operation: scans, neighbours, a type per rank, inter-communicators.
  [[nodiscard]] bool take_collective(mpi_table::Row row, const mpi_table::Arguments& arguments,
                                     const Communicator& communicator) noexcept;
  /// A message; the positions are those of its count, type, peer and tag. `is_null`: it goes to
  /// MPI_PROC_NULL. A peer or tag that is any is kAny.
  void take_message(OpKind kind, const mpi_table::Arguments& arguments, int count, int type, int peer, int tag,
                    bool& is_null) noexcept;

  [[nodiscard]] replay::SeenOperation& seen() noexcept {
    seen_.in = in_;
    seen_.out = out_;
    return seen_;
  }

 private:
  struct Element {
    DataType type = DataType::uint8;
    std::uint64_t scale = 1;  ///< elements of tutti's type in one of MPI's
  };
  /// This rank's part in a collective.
  struct Place {
    int ranks = 1;
    std::size_t rank = 0;
    bool in_place = false;
    bool is_root = true;  ///< also where there is no root
  };
  [[nodiscard]] static Element element_of(Word type, Word other) noexcept;
  void take_list(std::vector<std::uint64_t>& list, const mpi_table::Arguments& arguments, int at, int ranks,
                 std::uint64_t scale);
  [[nodiscard]] bool take_shape(const mpi_table::Function& function, const mpi_table::Arguments& arguments,
                                const Communicator& communicator);
  void take_common(const mpi_table::Columns& at, const mpi_table::Arguments& arguments, const Place& place,
                   const Element& element);
  void take_blocks(int count, const mpi_table::Arguments& arguments, const Element& element) noexcept;
  void take_gathered(const mpi_table::Columns& at, const mpi_table::Arguments& arguments, const Place& place,
                     const Element& whole, const Element& own);
  void take_scattered(const mpi_table::Columns& at, const mpi_table::Arguments& arguments, const Place& place,
                      const Element& element);
  void take_reduction(const mpi_table::Arguments& arguments, int at) noexcept;

  replay::SeenOperation seen_;
  std::vector<std::uint64_t> in_, out_;
};

}  // namespace tutti::profiling::mpi

#pragma once

#include <string>
#include <vector>

#include "analysis/cell_key.hpp"
#include "tutti/composition.hpp"

namespace tutti::tools {

/// A library that breaks a performance guideline: it has operations that together do the work of one call faster than
/// the call itself. The pointers refer to the results.
struct BrokenGuideline {
  CellKey key;
  const SweepRow* row = nullptr;  ///< the slow operation
  Composition composition = Composition::none;
  std::vector<const SweepRow*> parts;     ///< the operations of the faster way, in their order
  double parts_us = 0;                    ///< their times together
  double factor = 0;                      ///< the operation takes longer by this factor
  [[nodiscard]] std::string way() const;  ///< "gather + broadcast", "2 x 1 MiB"
};

/// Compared are, for each backend: allgather with gather + broadcast, allreduce with reduce + broadcast and with
/// reduce_scatter + allgather, and each size with two calls of half the size. Reported are differences beyond the
/// noise, in the order of keys and of the backends in the file.
[[nodiscard]] std::vector<BrokenGuideline> find_broken_guidelines(const SweepResults& results);
std::vector<BrokenGuideline> find_broken_guidelines(SweepResults&&) = delete;

}  // namespace tutti::tools

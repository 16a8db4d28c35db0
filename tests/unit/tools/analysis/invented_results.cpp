#include "analysis/invented_results.hpp"

#include <algorithm>

namespace tutti::tools::test {

SweepResults results_of(std::vector<SweepRow> rows) {
  SweepResults results;
  results.machine = "Invented CPU, 8 cores, AVX2";
  results.ranks = 4;
  results.head.cpu = "Invented CPU";
  results.head.cores = 8;
  results.head.kernels = "AVX2";
  for (const SweepRow& row : rows) {
    if (std::ranges::find(results.ops, row.cell.op) == results.ops.end()) results.ops.push_back(row.cell.op);
    if (std::ranges::find(results.sizes, row.cell.bytes) == results.sizes.end())
      results.sizes.push_back(row.cell.bytes);
    if (std::ranges::find(results.backends, row.backend, &BackendSetup::backend) == results.backends.end())
      results.backends.push_back({.backend = row.backend, .version = "1.0"});
  }
  results.rows = std::move(rows);
  return results;
}

}  // namespace tutti::tools::test

#include "replay/replay_sizes.hpp"

#include <new>
#include <utility>

namespace tutti::tools {

SizesOfKinds sizes_of(const ReplayRows& rows, const std::vector<RowTotals>& totals) {
  SizesOfKinds sizes;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const ReplayRow& row = rows.rows[i];
    if (row.bytes == 0 || totals[i].calls == 0) continue;
    base::add_operations(sizes[row.op], row.bytes, totals[i].calls, totals[i].time_us);
  }
  return sizes;
}

void InnerSizes::on(const InnerOperation& operation) noexcept {
  if (operation.bytes == 0) return;
  try {
    const std::scoped_lock lock(mutex_);
    Batch& batch = batches_[operation.batch];
    if (batch.bytes == 0) {
      batch.kind = operation.kind;
      batch.begin_ns = operation.begin_ns;
    }
    batch.bytes += operation.bytes;
    batch.end_ns = operation.end_ns;
  } catch (const std::bad_alloc&) {
    // The table lacks an operation; the replay goes on.
  }
}

SizesOfKinds InnerSizes::take() {
  std::map<std::uint64_t, Batch> batches;
  {
    const std::scoped_lock lock(mutex_);
    batches = std::exchange(batches_, {});
  }
  SizesOfKinds sizes;
  for (const auto& [number, batch] : batches) {
    const double time_us = static_cast<double>(batch.end_ns - batch.begin_ns) / 1000;
    base::add_operations(sizes[batch.kind], batch.bytes, 1, time_us);
  }
  return sizes;
}

}  // namespace tutti::tools

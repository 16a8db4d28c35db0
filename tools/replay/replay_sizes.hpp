#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "base/size_classes.hpp"
#include "replay/replay_rows.hpp"
#include "tutti/observer.hpp"

namespace tutti::tools {

/// Operations of a rank by kind and class of size.
using SizesOfKinds = std::map<OpKind, base::SizeHistogram>;

/// The operations of the program as they were replayed.
[[nodiscard]] SizesOfKinds sizes_of(const ReplayRows& rows, const std::vector<RowTotals>& totals);

/// Collects the operations by which a backend on another one carries out those of the program: a fused allreduce is
/// one, in however many pieces it is carried out.
class InnerSizes final : public Observer {
 public:
  using Observer::on;
  void on(const InnerOperation& operation) noexcept override;

  /// The operations so far; begins anew.
  [[nodiscard]] SizesOfKinds take();

 private:
  struct Batch {
    OpKind kind = OpKind::allreduce;
    std::uint64_t bytes = 0;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
  };

  std::mutex mutex_;
  std::map<std::uint64_t, Batch> batches_;
};

}  // namespace tutti::tools

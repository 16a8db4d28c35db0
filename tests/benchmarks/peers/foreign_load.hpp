#pragma once

#include <chrono>

namespace tutti::bench {

/// Load by other programs from construction on, which disturbs a measurement without being visible in it.
class ForeignLoad {
 public:
  ForeignLoad();
  /// Average number of cores that were busy with other processes than this one and its children. Children that still
  /// run count as other processes.
  [[nodiscard]] double cores() const;

 private:
  std::chrono::steady_clock::time_point begin_;
  double others_;
};

}  // namespace tutti::bench

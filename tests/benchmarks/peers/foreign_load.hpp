#pragma once

#include <chrono>

namespace tutti::bench {

/// How busy others keep the machine from now on: what disturbs a measurement and cannot be seen in it.
class ForeignLoad {
 public:
  ForeignLoad();
  /// Cores that were busy with anything but this process and its children, on average. Children that still run count
  /// as others.
  [[nodiscard]] double cores() const;

 private:
  std::chrono::steady_clock::time_point begin_;
  double others_;
};

}  // namespace tutti::bench

#pragma once

#include <cstdint>
#include <vector>

namespace tutti::tools {

/// Work that a rank does alone, as a program does between two operations: passes over memory of its own, in its cache.
class Computation {
 public:
  /// The same number of passes is the same work, however fast the cores are meanwhile.
  explicit Computation(std::uint64_t passes);

  void run() noexcept;

  /// The passes that take about `seconds` on a core that does nothing else; at least 1.
  [[nodiscard]] static std::uint64_t passes_for(double seconds);

 private:
  void pass() noexcept;

  std::uint64_t passes_;
  std::vector<float> values_;
};

}  // namespace tutti::tools

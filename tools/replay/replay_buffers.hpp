#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "sweep/rank/sweep_buffers.hpp"

namespace tutti::tools {

/// Host memory for the operations of a replay: operations under way at the same time have separate buffers, later ones
/// use them again.
class ReplayBuffers {
 public:
  /// At least `bytes` bytes; null for none. The content is that of the operation that had them before, else ones.
  [[nodiscard]] std::byte* take(std::size_t bytes);
  /// Gives them back.
  void put(std::byte* data, std::size_t bytes);

 private:
  std::map<std::size_t, std::vector<std::byte*>> free_;  ///< by rounded size
  std::vector<std::unique_ptr<Pages>> pages_;
};

}  // namespace tutti::tools

#pragma once

#include <vector>

#include "segment/layout.hpp"
#include "tutti/info/native_info.hpp"

namespace tutti::native {

/// Best times of chunks between two cores.
struct MoveTimes {
  std::vector<NativeMove> moves = {};
  bool steady = true;  ///< false if other programs disturbed them
};

/// Times chunks that go through a ring of that shape from the first core that this process may use to the last one:
/// a thread of its own reads. Nothing if there is only one core.
[[nodiscard]] MoveTimes probe_moves(const RingShape& shape);

}  // namespace tutti::native

#pragma once

#include <memory>
#include <vector>

#include "staging/staging_area.hpp"

namespace tutti {

/// The staging areas of a communicator, one per context that its operations have used. The oldest is given up when
/// there are many.
class StagingAreas {
 public:
  /// The area of the context that `stream` belongs to.
  [[nodiscard]] std::shared_ptr<StagingArea> of(const Stream& stream);

 private:
  std::vector<std::shared_ptr<StagingArea>> areas_;
};

/// The stream of an operation on a device; the device's own for an operation without one.
[[nodiscard]] Stream stream_of(const Operation& op);

}  // namespace tutti

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine.hpp"
#include "tutti/operation.hpp"

namespace tutti::native {

/// Collectives on device memory by the devices themselves: every rank copies, or combines, what it needs from where the
/// others have it into its own output, on the stream of the operation. An allreduce is split by owner: each rank
/// combines its share of all inputs, in rank order, and then copies the other shares from the outputs of their owners.
///
/// All ranks have closed the memory of the others before any returns.
class DeviceCollective {
 public:
  explicit DeviceCollective(Engine& engine) noexcept : engine_(engine), reach_(engine.device_reach()) {}

  /// Whether the operation can be done so; collective where it is not clear at once. Its memory is then open.
  [[nodiscard]] bool prepare(const Operation& operation);
  /// After prepare() said yes.
  void run(const Operation& operation);

 private:
  void move(const Operation& operation);
  void combine(const Operation& operation);
  void collect(const Operation& operation);
  /// Returns when all ranks have come here.
  void meet(const Operation& operation);

  Engine& engine_;
  DeviceReach& reach_;
};

}  // namespace tutti::native

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::native {

/// Collectives on device memory, carried out by the devices: every rank copies or combines data from the memory of the
/// other ranks into its own output, on the stream of the operation. An allreduce is split by owner: each rank combines
/// its share of all inputs, in rank order, and then copies the other shares from the outputs of their owners.
///
/// All ranks have closed the memory of the others before any rank returns.
class DeviceCollective {
 public:
  explicit DeviceCollective(Engine& engine) noexcept : engine_(engine), reach_(engine.device_reach()) {}

  /// Whether the devices can carry out the operation; if so, the memory of the other ranks is open. Collective, unless
  /// the operation alone decides.
  [[nodiscard]] bool prepare(const Operation& operation);
  /// Carries out the operation; only after prepare() returned true.
  void run(const Operation& operation);

 private:
  void move(const Operation& operation);
  void combine(const Operation& operation);
  void collect(const Operation& operation);
  /// Returns when all ranks have called it.
  void meet(const Operation& operation);

  Engine& engine_;
  DeviceReach& reach_;
};

}  // namespace tutti::native

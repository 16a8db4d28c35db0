#include "staging/staging_rules.hpp"

#include "call/communicator_state.hpp"
#include "check/validation.hpp"
#include "tutti/spi/device.hpp"

namespace tutti {

bool needs_staging(const Operation& op, const spi::Capabilities& capabilities) {
  if (op.stream.is_host() && op.where.kind == MemoryKind::host) return false;
  const Device device = op.stream.is_host() ? op.where.device : op.stream.device();
  return !capabilities.takes(op) || !capabilities.takes(spi::device_runtime(device).name(), op.where.kind);
}

bool is_copied(const Operation& op, const spi::Capabilities& capabilities) {
  return op.where.kind == MemoryKind::device && needs_staging(op, capabilities);
}

Error staging_refusal(const detail::CommunicatorState& state, const spi::BackendCommunicator& leaf,
                      const Operation& op) {
  std::string text = context(state, op) + ": backend " + leaf.name() + " does not take " +
                     std::string(name(op.where.kind)) + " memory of " + op.where.device.name() +
                     " and TUTTI_STRICT forbids copies through the host";
  return {ErrorCode::unsupported, text, leaf.name()};
}

}  // namespace tutti

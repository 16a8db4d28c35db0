#include "device/device_memory.hpp"

#include <optional>

#include "tutti/spi/device.hpp"

namespace tutti {

namespace {

std::string kind_of(const Memory& where) { return std::string(name(where.kind)) + " memory of " + where.device.name(); }

}  // namespace

std::string resolve_device_memory(Operation& op, std::uint64_t input_elements, std::uint64_t output_elements) {
  const bool has_stream = !op.stream.is_host();
  const Memory stated = op.where;
  const bool is_stated = stated.kind != MemoryKind::host;
  const Device device = has_stream ? op.stream.device() : stated.device;
  if (device.is_host()) {
    return std::string(name(stated.kind)) + " memory was given without its device; set Memory::device or pass a stream";
  }
  if (is_stated && has_stream && stated.device != device) {
    return kind_of(stated) + " was given together with a stream of " + device.name() +
           "; both must be on the same device";
  }
  spi::DeviceRuntime& runtime = spi::device_runtime(device);
  const Stream stream = has_stream ? op.stream : runtime.stream(device);

  std::optional<Memory> found;
  const auto look = [&](const void* pointer, const char* which) -> std::string {
    if (pointer == nullptr) return {};
    const spi::PointerInfo info = runtime.locate(stream, pointer);
    if (!info.where) {
      return std::string(which) + " is " + info.found + "; expected memory of the context of " +
             (has_stream ? "the stream on " + device.name()
                         : device.name() +
                               " that tutti created (for memory of another context, pass a stream of that context)");
    }
    if (is_stated && info.where->kind != stated.kind) {
      return std::string(which) + " is " + kind_of(*info.where) + ", but was given as " + kind_of(stated);
    }
    // If the kinds differ, `device` holds for both: such memory is copied and never accessed by the host.
    if (found && found->kind != info.where->kind)
      found->kind = MemoryKind::device;
    else
      found = info.where;
    return {};
  };
  std::string problem = look(input_elements == 0 ? nullptr : op.input, "input");
  if (problem.empty()) problem = look(output_elements == 0 ? nullptr : op.output, "output");
  op.where = found ? *found : Memory{device, is_stated ? stated.kind : MemoryKind::host};
  return problem;
}

}  // namespace tutti

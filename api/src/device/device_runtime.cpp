#include "tutti/error.hpp"
#include "tutti/spi/device.hpp"
#include "tutti/spi/instrument.hpp"

namespace tutti::spi {

DeviceEvent::DeviceEvent(Device device, std::string_view work) noexcept
    : device_(device), work_(work), cause_(current_operation()) {}

bool DeviceEvent::ready() {
  if (!do_ready()) return false;
  report();
  return true;
}

void DeviceEvent::wait() {
  do_wait();
  report();
}

void DeviceEvent::report() noexcept {
  Observer* target = observer();
  if (target == nullptr || work_.empty() || is_reported_) return;
  is_reported_ = true;
  try {
    if (const auto times = interval()) {
      target->on(DeviceInterval{cause_, work_, device_, times->begin_ns, times->end_ns});
    }
  } catch (const Error&) {  // NOLINT: work without timestamps is still done
  }
}

void* DeviceRuntime::allocate(const Stream& stream, MemoryKind kind, std::size_t bytes, std::string_view owner) {
  void* pointer = do_allocate(stream, kind, bytes);
  report_allocation(owner, pointer, bytes, {stream.device(), kind});
  return pointer;
}

void DeviceRuntime::release(const Stream& stream, void* pointer, MemoryKind kind, std::size_t bytes,
                            std::string_view owner) noexcept {
  if (pointer == nullptr) return;
  report_free(owner, pointer, bytes, {stream.device(), kind});
  do_release(stream, pointer);
}

std::unique_ptr<DeviceEvent> DeviceRuntime::copy(const Stream& stream, const Buffer& to, const ConstBuffer& from) {
  if (Observer* target = observer()) {
    target->on(Traffic{current_operation(), name_, from.bytes(), from.where, to.where});
  }
  return do_copy(stream, to.data, from.data, from.bytes());
}

std::unique_ptr<DeviceEvent> DeviceRuntime::fill(const Stream& stream, const Buffer& to, std::byte value) {
  if (Observer* target = observer()) target->on(Traffic{current_operation(), name_, to.bytes(), to.where, to.where});
  return do_fill(stream, to.data, value, to.bytes());
}

std::unique_ptr<DeviceEvent> DeviceRuntime::reduce(const Stream& stream, const DeviceReduction& reduction) {
  const auto fits = [](std::size_t count, std::size_t most) { return count >= 1 && count <= most; };
  if (!fits(reduction.inputs.size(), DeviceReduction::kMaxInputs) ||
      !fits(reduction.outputs.size(), DeviceReduction::kMaxOutputs)) {
    throw Error(ErrorCode::invalid_argument, "device reduction has " + std::to_string(reduction.inputs.size()) +
                                                 " inputs and " + std::to_string(reduction.outputs.size()) +
                                                 " outputs; accepted: 1 to " +
                                                 std::to_string(DeviceReduction::kMaxInputs) + " inputs and 1 to " +
                                                 std::to_string(DeviceReduction::kMaxOutputs) + " outputs");
  }
  if (!is_defined(reduction.reduction, reduction.type)) {
    throw Error(ErrorCode::invalid_argument, "reduction " + std::string(tutti::name(reduction.reduction)) +
                                                 " is not defined for " + std::string(tutti::name(reduction.type)));
  }
  return do_reduce(stream, reduction);
}

}  // namespace tutti::spi

#pragma once

#include <string_view>

#include "tutti/device.hpp"
#include "tutti/export.hpp"

namespace tutti {

/// Order of execution of an operation. The default is the host: the operation has completed when the call (or
/// Work::wait()) returns. A device stream, made by the interop header of its device, orders the operation after all
/// work enqueued before it and before all work enqueued later; the call does not block the host. A non-owning value.
class Stream {
 public:
  constexpr Stream() noexcept = default;
  constexpr Stream(Device device, void* native) noexcept : device_(device), native_(native) {}

  [[nodiscard]] constexpr bool is_host() const noexcept { return native_ == nullptr; }
  [[nodiscard]] constexpr Device device() const noexcept { return device_; }
  /// The runtime's own queue or stream object; only its device module knows the type.
  [[nodiscard]] constexpr void* native() const noexcept { return native_; }
  friend constexpr bool operator==(const Stream&, const Stream&) noexcept = default;

 private:
  Device device_ = {};
  void* native_ = nullptr;
};

/// Wraps a queue or stream object of the runtime behind device module `module`; called by the interop headers. Opens
/// the module on first use. Throws Error{backend_unavailable} if the module does not exist or is not usable here.
[[nodiscard]] TUTTI_API Stream adopt_stream(std::string_view module, void* native);

}  // namespace tutti

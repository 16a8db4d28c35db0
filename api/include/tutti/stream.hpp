#pragma once

#include <string_view>

#include "tutti/device.hpp"
#include "tutti/export.hpp"

namespace tutti {

/// An order of execution. The default one is the host: an operation on it has happened when the call (or Work::wait())
/// returns. A device stream is made by the interop header of its device and orders the operation after what was
/// enqueued before it and before what is enqueued later; the call then does not block the host. A non-owning value.
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

/// The stream behind a queue or stream object of the runtime that `module` drives; what the interop headers call. Opens
/// the module on first use. Throws Error{backend_unavailable} when there is no such module or it is not usable here.
[[nodiscard]] TUTTI_API Stream adopt_stream(std::string_view module, void* native);

}  // namespace tutti

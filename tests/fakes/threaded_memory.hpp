#pragma once

#include <cstdint>

namespace tutti::test {

/// The fake device "threaded" adds this to the address of device memory, so that the CPU cannot use the program's
/// address.
inline constexpr std::uintptr_t kDeviceOffset = std::uintptr_t{1} << 55;

/// The real address of device memory; other addresses are returned unchanged.
template <typename T>
[[nodiscard]] T* host_view(T* pointer) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return reinterpret_cast<T*>(address >= kDeviceOffset ? address - kDeviceOffset : address);
}

}  // namespace tutti::test

#pragma once

#include <cstdint>

namespace tutti::test {

/// Added by the fake device threaded to the address of device memory: what the program gets is no address the CPU
/// accepts.
inline constexpr std::uintptr_t kDeviceOffset = std::uintptr_t{1} << 55;

/// Where it really is; the address itself when it is not device memory.
template <typename T>
[[nodiscard]] T* host_view(T* pointer) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return reinterpret_cast<T*>(address >= kDeviceOffset ? address - kDeviceOffset : address);
}

}  // namespace tutti::test

#pragma once

#include <cstdint>

namespace tutti::profiling::memory {

/// Number, in the session, of the name of the owner of code at this address: "tutti", "application" for the program
/// itself, else the name of the library up to ".so"; "generated code" where no file is known.
[[nodiscard]] std::uint32_t owner_of(const void* code) noexcept;

}  // namespace tutti::profiling::memory

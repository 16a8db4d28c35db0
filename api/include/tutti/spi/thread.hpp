#pragma once

#include <functional>
#include <thread>

#include "tutti/export.hpp"

namespace tutti::spi {

/// Starts a thread of the library's own. All signals are blocked in it: the application's handlers shall run on the
/// application's threads. `name` is what debuggers and top show, 15 characters at most. Throws Error{system}.
[[nodiscard]] TUTTI_API std::thread start_thread(const char* name, std::function<void()> body);

}  // namespace tutti::spi

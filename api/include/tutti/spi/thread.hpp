#pragma once

#include <functional>
#include <thread>

#include "tutti/export.hpp"

namespace tutti::spi {

/// Starts a thread of the library with all signals blocked but that of LibraryCalls, so that the application's handlers
/// run on the application's threads. `name` is shown by debuggers and top, at most 15 characters. Throws Error{system} if the thread cannot be
/// started.
[[nodiscard]] TUTTI_API std::thread start_thread(const char* name, std::function<void()> body);

}  // namespace tutti::spi

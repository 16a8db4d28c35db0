#pragma once

#include <string>

namespace tutti::ccl {

/// Threads that oneCCL starts for itself.
///
/// When the connection to a rank that has died ends, an operation in such a thread fails; the thread then ends the
/// process by std::terminate(), where nobody can catch the error. The call of that function in libccl.so.1 is led to
/// tutti: a thread of oneCCL's own stands still instead, and the ranks' calls fail. Threads of the program, and those
/// of tutti, end the process as before.

/// Called in the thread that stands still from then on, with the text of its exception.
using ThreadFailed = void (*)(const std::string& text);

/// Leads the calls of std::terminate() in the loaded library `file` to tutti; without effect for a library that is not
/// loaded or makes no such call. Returns whether there was one. Called once.
bool hold_failed_threads(const char* file, ThreadFailed on_failure) noexcept;

}  // namespace tutti::ccl

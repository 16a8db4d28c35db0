#pragma once

#include <nccl.h>

#include <new>
#include <string>
#include <string_view>

#include "tutti/error.hpp"

namespace tutti::nccl_adapter {

[[nodiscard]] ncclResult_t result_of(const Error& error) noexcept;

/// Text of the last error of this thread, for ncclGetLastError(). Empty: there was none.
[[nodiscard]] const char* last_error() noexcept;
void set_last_error(std::string_view text) noexcept;

/// Carries out a function of NCCL's interface: exceptions become results, with their text for ncclGetLastError().
template <typename Body>
ncclResult_t guarded(const Body& body) noexcept {
  try {
    body();
    return ncclSuccess;
  } catch (const Error& error) {
    set_last_error(error.what());
    return result_of(error);
  } catch (const std::bad_alloc&) {
    set_last_error("out of memory");
    return ncclSystemError;
  } catch (const std::exception& error) {
    set_last_error(error.what());
    return ncclInternalError;
  }
}

[[noreturn]] void refuse_argument(const std::string& text);
[[noreturn]] void refuse_usage(const std::string& text);

}  // namespace tutti::nccl_adapter

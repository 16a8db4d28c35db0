#pragma once

#include <new>
#include <string>

#include "tutti/error.hpp"
#include "tutti/tutti.h"
#include "tutti/types/data_type.hpp"

/// Exceptions as status codes, for the functions of the C interface.
namespace tutti::detail {

/// The text of this thread's last failure.
inline std::string& last_error() {
  thread_local std::string message;
  return message;
}

inline tutti_status fail_call(ErrorCode code, const char* message) noexcept {
  try {
    last_error() = message;
  } catch (const std::bad_alloc&) {
    last_error().clear();
  }
  return static_cast<tutti_status>(code);
}

/// Converts exceptions to status codes: none may reach a C caller.
template <typename Body>
tutti_status guarded(const Body& body) noexcept {
  try {
    body();
    return TUTTI_OK;
  } catch (const Error& error) {
    return fail_call(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return fail_call(ErrorCode::system, "out of memory");
  } catch (const std::exception& error) {
    return fail_call(ErrorCode::backend_failure, error.what());
  }
}

template <typename T>
T& checked_output(T* pointer, const char* what) {
  if (pointer == nullptr) throw Error(ErrorCode::invalid_argument, std::string(what) + " is null");
  return *pointer;
}

inline DataType type_of(tutti_data_type type) {
  if (static_cast<unsigned>(type) >= kDataTypeCount) {
    throw Error(ErrorCode::invalid_argument, "data type " + std::to_string(static_cast<int>(type)) +
                                                 " does not exist; accepted: 0 (TUTTI_INT8) to " +
                                                 std::to_string(TUTTI_FLOAT8_E5M2) + " (TUTTI_FLOAT8_E5M2)");
  }
  return static_cast<DataType>(type);
}

}  // namespace tutti::detail

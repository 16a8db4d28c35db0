#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tutti/export.hpp"

namespace tutti {

/// Category of an error, for programs that react to it. The C API uses the same numbers.
enum class ErrorCode : std::int32_t {
  ok = 0,
  invalid_argument = 1,     ///< an argument of the call is invalid
  invalid_usage = 2,        ///< the call is not allowed now (inside a group, after abort, mismatched ranks)
  unsupported = 3,          ///< the chosen backend cannot do it and strict mode forbids emulation
  backend_unavailable = 4,  ///< no such backend, or it is not usable on this machine
  backend_failure = 5,      ///< the library underneath reported an error; see Error::vendor_code
  peer_failure = 6,         ///< another rank died
  timeout = 7,              ///< the deadline of the operation passed
  aborted = 8,              ///< the communicator was aborted by this or another rank
  system = 9,               ///< the operating system refused (memory, files, sockets)
  config = 10,              ///< a variable or option has a value that is not accepted
};

/// Name of a code, as used in messages, JSON and the C API.
[[nodiscard]] TUTTI_API std::string_view name(ErrorCode code) noexcept;

/// The only exception type tutti throws. what() is a sentence that names rank, operation and size if there are any,
/// e.g. "allreduce of 4096 float32 on rank 1 of 4 (native): rank 3 died".
class TUTTI_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message, std::string backend = {}, std::int64_t vendor_code = 0)
      : std::runtime_error(message), code_(code), backend_(std::move(backend)), vendor_code_(vendor_code) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  /// The backend that failed; empty if the error occurred before a backend was chosen.
  [[nodiscard]] const std::string& backend() const noexcept { return backend_; }
  /// Error number of the library underneath, or errno; 0 if there is none.
  [[nodiscard]] std::int64_t vendor_code() const noexcept { return vendor_code_; }

 private:
  ErrorCode code_;
  std::string backend_;
  std::int64_t vendor_code_;
};

}  // namespace tutti

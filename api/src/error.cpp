#include "tutti/error.hpp"

namespace tutti {

std::string_view name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::ok:
      return "ok";
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::invalid_usage:
      return "invalid_usage";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::backend_unavailable:
      return "backend_unavailable";
    case ErrorCode::backend_failure:
      return "backend_failure";
    case ErrorCode::peer_failure:
      return "peer_failure";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::aborted:
      return "aborted";
    case ErrorCode::system:
      return "system";
    case ErrorCode::config:
      return "config";
  }
  // The C API can pass numbers that are no ErrorCode.
  return "unknown";
}

}  // namespace tutti

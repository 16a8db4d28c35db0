#include "nccl_error.hpp"

#include <algorithm>
#include <array>

namespace tutti::nccl_adapter {
namespace {

// Of a fixed size, so that "out of memory" needs none.
thread_local std::array<char, 1024> text_of_thread{};

}  // namespace

ncclResult_t result_of(const Error& error) noexcept {
  switch (error.code()) {
    case ErrorCode::ok:
      return ncclSuccess;
    case ErrorCode::invalid_argument:
      return ncclInvalidArgument;
    case ErrorCode::invalid_usage:
    case ErrorCode::unsupported:
    case ErrorCode::config:
      return ncclInvalidUsage;
    case ErrorCode::peer_failure:
    case ErrorCode::aborted:
      return ncclRemoteError;
    case ErrorCode::timeout:
      return ncclTimeout;
    case ErrorCode::backend_unavailable:
    case ErrorCode::system:
      return ncclSystemError;
    case ErrorCode::backend_failure:
      return ncclUnhandledCudaError;
  }
  return ncclInternalError;
}

const char* last_error() noexcept { return text_of_thread.data(); }

void set_last_error(std::string_view text) noexcept {
  const std::size_t length = std::min(text.size(), text_of_thread.size() - 1);
  *std::copy_n(text.data(), length, text_of_thread.data()) = '\0';
}

void refuse_argument(const std::string& text) { throw Error(ErrorCode::invalid_argument, text); }
void refuse_usage(const std::string& text) { throw Error(ErrorCode::invalid_usage, text); }

}  // namespace tutti::nccl_adapter

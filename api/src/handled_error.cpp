#include "handled_error.hpp"

#include <new>
#include <string>

namespace tutti {

namespace {

// Made while there is memory: a copy of it needs none.
const Error kOutOfMemory(ErrorCode::system, "out of memory");

template <typename Place>
Error handled(const Place& place) noexcept {
  try {
    try {
      throw;
    } catch (const Error& error) {
      return error;
    } catch (const std::bad_alloc&) {
      return {ErrorCode::system, place() + ": out of memory on this rank"};
    } catch (const std::exception& exception) {
      return {ErrorCode::backend_failure, place() + ": " + exception.what()};
    } catch (...) {
      return {ErrorCode::backend_failure, place() + ": an exception of an unknown type"};
    }
  } catch (...) {
    return kOutOfMemory;
  }
}

}  // namespace

Error handled_error(std::string_view call) noexcept {
  return handled([&] { return std::string(call); });
}

Error handled_error(std::string_view communicator, int rank) noexcept {
  return handled([&] { return "communicator " + std::string(communicator) + " on rank " + std::to_string(rank); });
}

}  // namespace tutti

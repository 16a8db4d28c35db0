#pragma once

#include <string_view>

#include "tutti/error.hpp"

namespace tutti {

/// In a handler: the current exception as an Error. A lack of memory becomes Error{system}, any other exception that is
/// no Error becomes Error{backend_failure}. `call` begins their text, e.g. "world()". Works also when there is no
/// memory for the text.
[[nodiscard]] Error handled_error(std::string_view call) noexcept;

/// The same for a call on a communicator.
[[nodiscard]] Error handled_error(std::string_view communicator, int rank) noexcept;

/// Result of `body`. An exception that is no Error leaves as one, see handled_error().
template <typename Body>
auto throwing_errors_only(std::string_view call, const Body& body) {
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (...) {
    throw handled_error(call);
  }
}

}  // namespace tutti

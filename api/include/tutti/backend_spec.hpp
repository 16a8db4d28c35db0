#pragma once

#include <string>
#include <string_view>

#include "tutti/export.hpp"

namespace tutti {

/// A backend as users write it: NAME[:REST].
///
///     native              a backend
///     NAME:PRODUCT        a product of a library that has several
///     OUTER:NAME:PRODUCT  a backend that stands on another one
///     auto                tutti chooses
///
/// The module called NAME decides whether REST is a product or another spec. '-' is accepted in place of ':'.
struct BackendSpec {
  std::string name;
  std::string rest = {};  ///< empty: none

  /// The form with colons.
  [[nodiscard]] std::string text() const { return rest.empty() ? name : name + ":" + rest; }
  friend bool operator==(const BackendSpec&, const BackendSpec&) = default;
};

/// Throws Error{config} that shows the form if a word is empty or has other characters than a-z, 0-9 and '_'.
[[nodiscard]] TUTTI_API BackendSpec parse_backend_spec(std::string_view text);

}  // namespace tutti

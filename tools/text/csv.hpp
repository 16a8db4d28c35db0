#pragma once

#include <string>
#include <string_view>

namespace tutti::tools {

/// A field of CSV: in quotes when it holds a comma, a quote or a line break.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace tutti::tools

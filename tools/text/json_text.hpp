#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tutti::tools {

/// The document, indented and ended with a newline. Bytes that are no UTF-8, as a path may have, are replaced by
/// U+FFFD.
[[nodiscard]] std::string to_text(const nlohmann::ordered_json& document);

}  // namespace tutti::tools

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tutti::tools {

/// The document as indented text with a newline at the end. Bytes that are not UTF-8, for example in a path, are
/// replaced by U+FFFD.
[[nodiscard]] std::string to_text(const nlohmann::ordered_json& document);

}  // namespace tutti::tools

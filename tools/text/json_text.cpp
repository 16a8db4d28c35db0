#include "text/json_text.hpp"

#include <nlohmann/json.hpp>

namespace tutti::tools {

std::string to_text(const nlohmann::ordered_json& document) {
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tutti::tools

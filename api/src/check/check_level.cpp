#include "check/check_level.hpp"

#include <string>

#include "settings/settings.hpp"

namespace tutti {

CheckLevel check_level(const Config& config) {
  const std::string text = config.text("TUTTI_CHECK");
  if (text == "auto") return CheckLevel::boards;
  return parse_flag(text).value_or(false) ? CheckLevel::exchange : CheckLevel::off;
}

}  // namespace tutti

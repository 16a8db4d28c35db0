#include "support/required_backends.hpp"

#include <cstdlib>

namespace tutti::test {

bool is_required(std::string_view target) {
  // Needs nothing but a compiler, so it is there or broken.
  if (target == "native") return true;
  const char* list = std::getenv("TUTTI_REQUIRE_BACKENDS");
  if (list == nullptr) return false;
  const std::string padded = "," + std::string(list) + ",";
  return padded.find("," + std::string(target) + ",") != std::string::npos;
}

std::string absence(std::string_view target, std::string_view reason) {
  std::string text = std::string(target) + " is not usable: " + std::string(reason);
  if (is_required(target)) text += " (it must be there: see TUTTI_REQUIRE_BACKENDS)";
  return text;
}

}  // namespace tutti::test

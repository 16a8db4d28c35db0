#include "support/required_backends.hpp"

#include <algorithm>
#include <cstdlib>

namespace tutti::test {

bool is_required(std::string_view target) {
  // The native backend and the fake device need nothing but a compiler: if one is missing, the build is broken.
  if (target == "native" || target == "threaded") return true;
  const char* list = std::getenv("TUTTI_REQUIRE_BACKENDS");
  if (list == nullptr) return false;
  const auto padded = [](std::string_view names) {
    std::string text = "," + std::string(names) + ",";
    std::ranges::replace(text, ':', '-');
    return text;
  };
  return padded(list).find(padded(target)) != std::string::npos;
}

std::string absence(std::string_view target, std::string_view reason) {
  std::string text = std::string(target) + " is not usable: " + std::string(reason);
  if (is_required(target))
    text += " (this is a failure: it is part of every build, or TUTTI_REQUIRE_BACKENDS names it)";
  return text;
}

}  // namespace tutti::test

#include "tutti/backend_spec.hpp"

#include <algorithm>

#include "settings/settings.hpp"
#include "tutti/error.hpp"

namespace tutti {

namespace {

bool is_word(std::string_view word) {
  return !word.empty() &&
         std::ranges::all_of(word, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

BackendSpec parse_backend_spec(std::string_view text) {
  std::string form(text);
  std::ranges::replace(form, '-', ':');
  for (std::size_t begin = 0; begin <= form.size();) {
    const std::size_t end = std::min(form.find(':', begin), form.size());
    if (!is_word(std::string_view(form).substr(begin, end - begin))) {
      throw Error(ErrorCode::config, "'" + printable(text) +
                                         "' is not a backend; accepted: auto, NAME, or NAME:REST, where REST is "
                                         "a product or another backend; `tutti info` lists the backends");
    }
    begin = end + 1;
  }
  const std::size_t colon = form.find(':');
  if (colon == std::string::npos) return {.name = std::move(form)};
  return {.name = form.substr(0, colon), .rest = form.substr(colon + 1)};
}

}  // namespace tutti

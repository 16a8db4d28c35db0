#include "sweep/show/sweep_titles.hpp"

#include "text/text.hpp"

namespace tutti::tools {

std::string section_title(const SweepSection& section, bool with_ranks) {
  std::string title = concat(name(section.op), traits(section.op).reduces ? " (sum)" : "");
  if (section.in_place) title += ", in place";
  if (with_ranks) title += concat(", ", section.ranks, section.ranks == 1 ? " rank" : " ranks");
  return title;
}

std::string size_text(std::uint64_t bytes) {
  const std::string exact = format_bytes(bytes);
  return exact.size() <= kSizeWidth ? exact : format_bytes_rounded(bytes);
}

std::string setting_value(const std::vector<std::string>& settings, std::string_view name) {
  for (const std::string& setting : settings) {
    const std::size_t sign = setting.find('=');
    if (sign != std::string::npos && setting.substr(0, sign) == name) return setting.substr(sign + 1);
  }
  return {};
}

}  // namespace tutti::tools

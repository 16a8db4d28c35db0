#include "report.hpp"

#include <algorithm>

#include "text.hpp"

namespace tutti::tools {

void Report::heading(std::string_view title, std::string_view remark) {
  text_ += concat(text_.empty() ? "" : "\n", terminal_.bold(title));
  if (!remark.empty()) text_ += terminal_.dim(concat("  ", remark));
  text_ += "\n\n";
}

void Report::line(std::string_view text) { text_ += concat(text, '\n'); }

void Report::paragraph(std::string_view text) {
  for (const std::string& piece : wrap(text, std::max<std::size_t>(width_, 22) - 2)) text_ += concat("  ", piece, '\n');
}

}  // namespace tutti::tools

#include "launch/line_prefixer.hpp"

namespace tutti::tools {

std::string LinePrefixer::feed(std::string_view bytes) {
  std::string lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      pending_ += bytes;
      if (pending_.size() > kLongestLine) lines += finish();
      break;
    }
    lines += prefix_;
    lines += pending_;
    lines += bytes.substr(0, end + 1);
    pending_.clear();
    bytes.remove_prefix(end + 1);
  }
  return lines;
}

std::string LinePrefixer::finish() {
  if (pending_.empty()) return {};
  std::string line = prefix_ + pending_;
  // Without a prefix the output stays as the program wrote it, byte for byte.
  if (!prefix_.empty()) line += '\n';
  pending_.clear();
  return line;
}

}  // namespace tutti::tools

#pragma once

#include <string>
#include <string_view>

namespace tutti::tools {

/// Turns a stream of bytes into whole lines with a prefix. Keeps the unfinished line until its end arrives.
class LinePrefixer {
 public:
  explicit LinePrefixer(std::string prefix) : prefix_(std::move(prefix)) {}

  /// The lines that `bytes` completes, each with its prefix.
  [[nodiscard]] std::string feed(std::string_view bytes);
  /// For the end of the stream: the unfinished line, with a newline if there is a prefix; empty when no line is
  /// unfinished.
  [[nodiscard]] std::string finish();

 private:
  // A longer line is split, so that a program without newlines does not fill the memory.
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;

  std::string prefix_;
  std::string pending_;
};

}  // namespace tutti::tools

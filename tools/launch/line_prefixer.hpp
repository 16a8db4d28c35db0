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
  /// The unfinished line, ended with a newline if there is a prefix; empty when there is none. For the end of the
  /// stream.
  [[nodiscard]] std::string finish();

 private:
  // A program that writes no newline must not make us keep all it ever wrote.
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;

  std::string prefix_;
  std::string pending_;
};

}  // namespace tutti::tools

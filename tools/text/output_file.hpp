#pragma once

#include <string>
#include <string_view>

#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

/// A file that is there whole or not at all, and of which it is known from the start that it can be written: until then
/// the content is in a file beside it, which is removed when nothing is ever written. What is no regular file (a pipe,
/// /dev/stdout) is written to as it is.
class OutputFile {
 public:
  /// Throws Error{system} that names the file and the reason.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Once. Throws likewise.
  void write(std::string_view content);

 private:
  [[noreturn]] void fail() const;

  std::string path_;
  std::string temporary_;  ///< empty: what is written to is the file itself
  spi::FileDescriptor descriptor_;
};

/// An OutputFile in one step.
void write_file_atomically(const std::string& path, std::string_view content);

}  // namespace tutti::tools

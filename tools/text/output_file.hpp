#pragma once

#include <string>
#include <string_view>

#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

/// A file that is written completely or not at all. The constructor creates a temporary file beside it and so finds out
/// whether it can be written; finish() renames the temporary file, and the destructor removes it if that did not
/// happen. An existing path that is not a regular file (a pipe, /dev/stdout) is written directly.
class OutputFile {
 public:
  /// Throws Error{system} that names the file and the reason.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Writes the whole content; call it once. Throws like the constructor.
  void write(std::string_view content);
  /// The same in pieces, for content that is larger than memory: append() each, then finish().
  void append(std::string_view bytes);
  void finish();

 private:
  [[noreturn]] void fail() const;

  std::string path_;
  std::string temporary_;  ///< empty: the file itself is written
  spi::FileDescriptor descriptor_;
};

/// Writes an OutputFile in one step. Throws like OutputFile.
void write_file_atomically(const std::string& path, std::string_view content);

}  // namespace tutti::tools

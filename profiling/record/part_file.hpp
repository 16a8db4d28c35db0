#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::replay {

/// A file that lines are appended to through a mapping, so that everything is there whatever ends the process. The
/// disk's space is reserved before it is written to: a full disk ends the recording and not the program. Not
/// thread-safe.
class PartFile {
 public:
  /// Creates the file; at most `limit` bytes are written. Throws tutti::Error{system}.
  PartFile(std::string path, std::size_t limit);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  /// Appends a line; the newline is added. False when there is no room, now and from then on: problem() says why.
  bool append(std::string_view line) noexcept;
  /// Appends to the last line if the file still ends at `end`, a value of size().
  void extend(std::size_t end, std::string_view text) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const char* problem() const noexcept { return problem_; }

 private:
  bool make_room(std::size_t bytes) noexcept;

  std::string path_;
  int descriptor_ = -1;
  std::size_t limit_;
  std::size_t size_ = 0;
  std::size_t reserved_ = 0;  ///< bytes of the file that are mapped
  char* data_ = nullptr;
  const char* problem_ = "";
};

}  // namespace tutti::replay

#pragma once

#include <cstddef>
#include <string_view>

#include "base/style.hpp"

namespace tutti::tools {

/// Width and styles of the terminal behind a descriptor; plain text when the descriptor is not a terminal.
class Terminal : public base::Style {
 public:
  explicit Terminal(int descriptor);

  [[nodiscard]] bool is_tty() const noexcept { return is_tty_; }
  /// Characters per line; 100 when it is not a terminal or is narrower than 40.
  [[nodiscard]] std::size_t columns() const;
  /// Lines; 0 when it is not a terminal.
  [[nodiscard]] std::size_t rows() const;

 private:
  int descriptor_;
  bool is_tty_;
};

/// Writes all of `text`; blocks even if the descriptor is non-blocking. False, with errno set, when a write fails.
bool write_all(int descriptor, std::string_view text);

/// Writes the result of a command to standard output. Throws Error{system} when a write fails; a closed pipe is not an
/// error.
void write_result(std::string_view text);

}  // namespace tutti::tools

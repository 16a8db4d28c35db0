#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tutti::tools {

/// Width and styles of the terminal behind a descriptor; plain text when the descriptor is not a terminal.
class Terminal {
 public:
  explicit Terminal(int descriptor);

  [[nodiscard]] bool is_tty() const noexcept { return is_tty_; }
  /// Characters per line; 100 when it is not a terminal or is narrower than 40.
  [[nodiscard]] std::size_t columns() const;

  [[nodiscard]] std::string bold(std::string_view text) const { return styled("1", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return styled("2", text); }
  /// Text in one of six colours; equal numbers give equal colours.
  [[nodiscard]] std::string coloured(int number, std::string_view text) const;

 private:
  [[nodiscard]] std::string styled(std::string_view code, std::string_view text) const;

  int descriptor_;
  bool is_tty_;
  bool colour_;
};

/// Writes all of `text`; blocks even if the descriptor is non-blocking. False, with errno set, when a write fails.
bool write_all(int descriptor, std::string_view text);

/// Writes the result of a command to standard output. Throws Error{system} when a write fails; a closed pipe is not an
/// error.
void write_result(std::string_view text);

}  // namespace tutti::tools

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tutti::tools {

/// The terminal behind a descriptor, or what stands for one when the output goes elsewhere.
class Terminal {
 public:
  explicit Terminal(int descriptor);

  [[nodiscard]] bool is_tty() const noexcept { return is_tty_; }
  /// Characters per line; 100 when it is no terminal.
  [[nodiscard]] std::size_t columns() const;

  [[nodiscard]] std::string bold(std::string_view text) const { return styled("1", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return styled("2", text); }
  /// One of a few colours that are told apart well; the same number always gives the same.
  [[nodiscard]] std::string coloured(int number, std::string_view text) const;

 private:
  [[nodiscard]] std::string styled(std::string_view code, std::string_view text) const;

  int descriptor_;
  bool is_tty_;
  bool colour_;
};

/// Writes all of it, also where the descriptor takes only a part at a time. False when the reader is gone.
bool write_all(int descriptor, std::string_view text);

/// Writes what a command was asked for to the standard output, as far as somebody reads it. Throws Error{system} when
/// that cannot be.
void write_result(std::string_view text);

}  // namespace tutti::tools

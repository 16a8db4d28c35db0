#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tutti::spi {

/// Bytes of the well-formed UTF-8 character that `text` begins with; 0 if it begins with none.
[[nodiscard]] constexpr std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  // The range of the second byte leaves out overlong forms, surrogates and numbers above U+10FFFF.
  const std::size_t length = first >= 0xc2 && first <= 0xdf ? 2 : (first & 0xf0) == 0xe0 ? 3 : first <= 0xf4 ? 4 : 0;
  if (length == 0 || first < 0xc2 || text.size() < length) return 0;
  const unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

/// A text from outside for use in a message: at most `longest` bytes of it, as UTF-8, with '?' for control characters
/// and for bytes that are not UTF-8.
[[nodiscard]] inline std::string printable(std::string_view value, std::size_t longest = 80) {
  std::string text;
  for (std::string_view rest = value; !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    if (text.size() + (length == 0 ? 1 : length) > longest) return text + "...";
    const auto first = static_cast<unsigned char>(rest.front());
    // U+0080 to U+009F are control characters, too.
    const bool is_control =
        first < 0x20 || first == 0x7f || (length == 2 && first == 0xc2 && static_cast<unsigned char>(rest[1]) < 0xa0);
    if (length == 0 || is_control) {
      text += '?';
    } else {
      text += rest.substr(0, length);
    }
    rest.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

}  // namespace tutti::spi

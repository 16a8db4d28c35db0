#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tutti {

// Numbers and texts in the messages of the store's protocol. The functions that read require that the bytes are there.

/// Appends a number, little-endian.
template <typename Number>
void append_number(std::string& out, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) out += static_cast<char>(number >> (8 * i) & 0xff);
}

/// Takes a number from the front.
template <typename Number>
[[nodiscard]] Number take_number(std::string_view& in) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number = static_cast<Number>(number | static_cast<Number>(static_cast<std::uint8_t>(in[i])) << (8 * i));
  }
  in.remove_prefix(sizeof(Number));
  return number;
}

/// Takes bytes from the front.
[[nodiscard]] inline std::string_view take_bytes(std::string_view& in, std::size_t size) {
  const std::string_view bytes = in.substr(0, size);
  in.remove_prefix(size);
  return bytes;
}

template <std::size_t size>
void append_array(std::string& out, const std::array<std::uint8_t, size>& bytes) {
  out.append(reinterpret_cast<const char*>(bytes.data()), size);
}

template <std::size_t size>
[[nodiscard]] std::array<std::uint8_t, size> take_array(std::string_view& in) {
  std::array<std::uint8_t, size> bytes;
  std::copy_n(in.data(), size, bytes.begin());
  in.remove_prefix(size);
  return bytes;
}

/// Appends a text as exactly `size` bytes: cut, or padded with zeros.
inline void append_text(std::string& out, std::string_view text, std::size_t size) {
  const std::string_view kept = text.substr(0, size);
  out.append(kept).append(size - kept.size(), '\0');
}

/// Takes a text that append_text() has written.
[[nodiscard]] inline std::string take_text(std::string_view& in, std::size_t size) {
  const std::string_view padded = take_bytes(in, size);
  return std::string(padded.substr(0, padded.find('\0')));
}

}  // namespace tutti

#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace tutti::base {

/// Emphasis of text on a terminal, or none.
class Style {
 public:
  /// `colour`: false leaves all text as it is.
  explicit Style(bool colour = false) noexcept : colour_(colour) {}

  [[nodiscard]] std::string bold(std::string_view text) const { return styled("1", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return styled("2", text); }
  /// Text in one of six colours; equal numbers give equal colours.
  [[nodiscard]] std::string coloured(int number, std::string_view text) const {
    constexpr std::array<std::string_view, 6> kCodes = {"36", "33", "35", "32", "34", "31"};
    return styled(kCodes[static_cast<std::size_t>(number) % kCodes.size()], text);
  }

 private:
  [[nodiscard]] std::string styled(std::string_view code, std::string_view text) const {
    std::string result(text);
    if (colour_) result.insert(0, "m").insert(0, code).insert(0, "\033[").append("\033[0m");
    return result;
  }

  bool colour_;
};

}  // namespace tutti::base

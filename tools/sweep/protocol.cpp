#include "sweep/protocol.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "text/text.hpp"

namespace tutti::tools {

namespace {

// In the order of SweepWord.
constexpr std::array<std::string_view, 17> kWords = {"rank",   "process", "library",  "setting", "begin",  "alive",
                                                     "note",   "served",  "emulated", "staged",  "counts", "observed",
                                                     "device", "steps",   "ok",       "wrong",   "failed"};

std::string_view take_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

}  // namespace

std::string encode(const SweepMessage& message) {
  const std::string_view word = kWords[static_cast<std::size_t>(message.word)];
  if (message.word == SweepWord::failed) return concat(word, ' ', message.text);
  return concat(word, ' ', message.number, message.text.empty() ? "" : " ", message.text);
}

std::optional<SweepMessage> decode(std::string_view line) {
  const std::string_view word = take_word(line);
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    if (kWords[i] != word) continue;
    SweepMessage message{.word = static_cast<SweepWord>(i), .text = line};
    if (message.word == SweepWord::failed) return message;
    const std::string_view number = take_word(message.text);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), message.number);
    if (error != std::errc{} || end != number.data() + number.size()) return std::nullopt;
    return message;
  }
  return std::nullopt;
}

}  // namespace tutti::tools

#include "faults/campaign/verdict/named_ranks.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace tutti::test::campaign {
namespace {

constexpr std::array<std::string_view, 16> kPhrases = {
    " died",    " exited", " left",  " aborted", " has not",    " have not", " is gone", " destroyed",
    " did not", " failed", " ended", " never",   " was killed", " is dead",  " stopped", " was lost"};

bool is_digit(std::string_view text, std::size_t at) {
  return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
}

int read_number(std::string_view text, std::size_t& at) {
  int number = 0;
  while (is_digit(text, at)) number = number * 10 + (text[at++] - '0');
  return number;
}

/// Reads "1", "1, 2 and 4" or "0 to 3" from `at` on.
std::vector<int> read_list(std::string_view text, std::size_t& at) {
  std::vector<int> ranks = {read_number(text, at)};
  for (;;) {
    const std::string_view rest = text.substr(at);
    std::size_t skip = 0;
    for (const std::string_view separator : {", ", " and ", " to ", " or "}) {
      if (rest.starts_with(separator) && is_digit(text, at + separator.size())) skip = separator.size();
    }
    if (skip == 0) return ranks;
    const bool is_range = rest.starts_with(" to ");
    at += skip;
    const int next = read_number(text, at);
    for (int rank = ranks.back() + 1; is_range && rank < next; ++rank) ranks.push_back(rank);
    ranks.push_back(next);
  }
}

/// Without the translation to ranks of the job at the end.
std::string_view without_translation(std::string_view message) {
  if (!message.ends_with(" of the job")) return message;
  const std::size_t at = message.rfind("; rank");
  return at == std::string_view::npos ? message : message.substr(0, at);
}

}  // namespace

std::vector<int> named_ranks(std::string_view message) {
  message = without_translation(message);
  std::vector<int> blamed;
  std::vector<int> mentioned;
  for (std::size_t at = message.find("rank"); at != std::string_view::npos; at = message.find("rank", at)) {
    const bool is_place = at >= 3 && message.substr(at - 3, 3) == "on ";
    at += 4;
    if (at < message.size() && message[at] == 's') ++at;
    if (at >= message.size() || message[at] != ' ' || !is_digit(message, at + 1)) continue;
    ++at;
    const std::vector<int> ranks = read_list(message, at);
    const std::string_view rest = message.substr(at);
    if (is_place && rest.starts_with(" of ")) continue;
    mentioned.insert(mentioned.end(), ranks.begin(), ranks.end());
    const bool is_blame =
        std::ranges::any_of(kPhrases, [&](std::string_view phrase) { return rest.starts_with(phrase); });
    if (is_blame) blamed.insert(blamed.end(), ranks.begin(), ranks.end());
  }
  return blamed.empty() ? mentioned : blamed;
}

std::vector<int> named_in_job(std::string_view message) {
  std::vector<int> ranks = named_ranks(message);
  const std::size_t translation = message.rfind("; rank");
  if (!message.ends_with(" of the job") || translation == std::string_view::npos) return ranks;
  std::size_t at = std::string_view::npos;
  for (const std::string_view phrase : {" are ranks ", " is rank "}) {
    const std::size_t found = message.find(phrase, translation);
    if (found != std::string_view::npos) at = found + phrase.size();
  }
  if (at == std::string_view::npos || !is_digit(message, at)) return {};
  const std::vector<int> in_job = read_list(message, at);
  for (int& rank : ranks) rank = rank < static_cast<int>(in_job.size()) ? in_job[static_cast<std::size_t>(rank)] : -1;
  return ranks;
}

}  // namespace tutti::test::campaign

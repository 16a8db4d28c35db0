#include "launch/host_list.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>

namespace tutti {
namespace {

// A name of a host has at most 253 characters by the rules of the domain name system. Longer ones times a large range
// would take all memory.
constexpr std::size_t kLongestName = 255;
// Of all names of one list together.
constexpr std::size_t kMostCharacters = std::size_t{1} << 26;

// Longer numbers are not numbers of hosts, and may not fit the type.
constexpr std::size_t kMostDigits = 9;

std::optional<std::uint32_t> digits(std::string_view text) {
  if (text.empty() || text.size() > kMostDigits) return std::nullopt;
  if (text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Calls visit(part) for each part between commas that are outside brackets; false if the brackets do not match or
/// visit() returns false.
template <typename Visit>
bool each_part(std::string_view text, Visit visit) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (depth < 0 || depth > 1) return false;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    if (depth != 0 || !visit(text.substr(begin, i - begin))) return false;
    begin = i + 1;
  }
  return true;
}

/// Appends the numbers of one range, "5" or "07-09", to `numbers`, with its leading zeros.
bool expand_range(std::string_view range, std::size_t most, std::vector<std::string>& numbers) {
  const std::size_t dash = range.find('-');
  const std::string_view low_text = range.substr(0, dash);
  const std::optional<std::uint32_t> low = digits(low_text);
  const std::optional<std::uint32_t> high = dash == std::string_view::npos ? low : digits(range.substr(dash + 1));
  if (!low || !high || *high < *low || *high - *low >= most || numbers.size() + (*high - *low) >= most) return false;
  for (std::uint32_t value = *low; value <= *high; ++value) {
    std::string number = std::to_string(value);
    if (number.size() < low_text.size()) number.insert(0, low_text.size() - number.size(), '0');
    numbers.push_back(std::move(number));
  }
  return true;
}

/// Appends the hosts of one name with brackets to `hosts`.
bool expand_name(std::string_view name, std::size_t most, std::vector<std::string>& hosts) {
  if (name.empty()) return false;
  std::vector<std::string> heads = {""};
  while (!name.empty()) {
    const std::size_t open = name.find('[');
    if (heads.front().size() + std::min(open, name.size()) > kLongestName) return false;
    for (std::string& head : heads) head += name.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = name.find(']', open);
    if (close == std::string_view::npos) return false;
    std::vector<std::string> numbers;
    if (!each_part(name.substr(open + 1, close - open - 1),
                   [&](std::string_view range) { return expand_range(range, most, numbers); })) {
      return false;
    }
    if (heads.size() * numbers.size() > most) return false;
    if (heads.size() * numbers.size() * (heads.front().size() + kMostDigits) > kMostCharacters) return false;
    std::vector<std::string> longer;
    for (const std::string& head : heads) {
      for (const std::string& number : numbers) longer.push_back(head + number);
    }
    heads = std::move(longer);
    name.remove_prefix(close + 1);
  }
  if (hosts.size() + heads.size() > most) return false;
  hosts.insert(hosts.end(), heads.begin(), heads.end());
  return true;
}

}  // namespace

std::vector<std::string> expand_host_list(std::string_view text, std::size_t most) {
  std::vector<std::string> hosts;
  if (!each_part(text, [&](std::string_view name) { return expand_name(name, most, hosts); })) hosts.clear();
  return hosts;
}

std::optional<int> count_at(std::string_view text, std::size_t index) {
  std::optional<int> found;
  std::size_t passed = 0;
  const bool well_formed = each_part(text, [&](std::string_view part) {
    const std::size_t bracket = part.find("(x");
    const std::optional<std::uint32_t> count = digits(part.substr(0, bracket));
    std::optional<std::uint32_t> times = 1;
    if (bracket != std::string_view::npos) {
      if (!part.ends_with(')')) return false;
      times = digits(part.substr(bracket + 2, part.size() - bracket - 3));
    }
    if (!count || !times || *times == 0) return false;
    if (!found && index < passed + *times) found = static_cast<int>(*count);
    passed += *times;
    return true;
  });
  return well_formed ? found : std::nullopt;
}

}  // namespace tutti

#include "sweep/sizes.hpp"

#include <set>
#include <string>

#include "text/text.hpp"
#include "tutti/config.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 46;

[[noreturn]] void refuse(std::string_view whole, const std::string& why) {
  throw UsageError(concat(
      "sizes \"", printable(whole), "\": ", why,
      "; accepted: a size (64K), a list (1K,3K,1M) or a doubling range (1M..512M); K, M and G are powers of 1024"));
}

std::uint64_t parse_size(std::string_view whole, std::string_view part) {
  const auto bytes = parse_bytes(part);
  if (!bytes) refuse(whole, concat('"', printable(part), "\" is not a size"));
  if (*bytes == 0) refuse(whole, "a size must not be 0");
  if (*bytes > kLargestSize)
    refuse(whole, concat('"', printable(part), "\" is larger than ", format_bytes(kLargestSize)));
  return *bytes;
}

}  // namespace

std::vector<std::uint64_t> parse_sizes(std::string_view text) {
  std::set<std::uint64_t> sizes;
  for (const std::string& item : split(text, ',')) {
    const std::string_view part = item;
    const std::size_t dots = part.find("..");
    if (dots == std::string_view::npos) {
      sizes.insert(parse_size(text, part));
      continue;
    }
    const std::uint64_t first = parse_size(text, part.substr(0, dots));
    const std::uint64_t last = parse_size(text, part.substr(dots + 2));
    if (first > last) refuse(text, "the range ends before it begins");
    for (std::uint64_t size = first; size <= last; size *= 2) sizes.insert(size);
  }
  if (sizes.empty()) refuse(text, "no size is given");
  return {sizes.begin(), sizes.end()};
}

}  // namespace tutti::tools

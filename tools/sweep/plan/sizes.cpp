#include "sweep/plan/sizes.hpp"

#include <set>
#include <string>

#include "text/text.hpp"
#include "tutti/config.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 46;

[[noreturn]] void refuse(std::string_view whole, const std::string& why) {
  throw UsageError(concat("sizes \"", printable(whole), "\": ", why,
                          "; accepted: a size (64K), a list (1K,3K,1M) or a doubling range (1M..512M); K, M and G, "
                          "also as KB or KiB, are powers of 1024"));
}

/// "1M" for "1MB", "1MiB" and "1M"; "512" for "512B". All units are powers of 1024.
std::string_view without_byte_unit(std::string_view part) {
  if (!part.ends_with('B')) return part;
  part.remove_suffix(1);
  const bool is_binary = part.ends_with('i') && part.substr(0, part.size() - 1).find_first_of("KMG") != part.npos;
  if (is_binary) part.remove_suffix(1);
  return part;
}

/// The size in bytes that somebody means who writes bits: "1M" for "1Mb", "1mbit" and "1Mbits". Empty for other texts.
std::string_view size_in_bits(std::string_view part) {
  for (const std::string_view unit : {"bits", "bit", "b"}) {
    if (!part.ends_with(unit)) continue;
    part.remove_suffix(unit.size());
    if (part.ends_with('i')) part.remove_suffix(1);
    return parse_bytes(part) ? part : std::string_view();
  }
  return {};
}

std::uint64_t parse_size(std::string_view whole, std::string_view part) {
  if (const std::string_view number = size_in_bits(part); !number.empty()) {
    refuse(whole, concat('"', printable(part), "\" is a number of bits, and sizes are in bytes; write ", number, " or ",
                         number, "B for ", format_bytes(*parse_bytes(number))));
  }
  const auto bytes = parse_bytes(without_byte_unit(part));
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

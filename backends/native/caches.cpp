#include "caches.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>

#include "native_api.hpp"

namespace tutti::native {
namespace {

constexpr CacheSizes kUsual = {.level2 = 512U << 10, .last_level = 16U << 20};

std::string line_of(const std::string& file) {
  std::string line;
  std::getline(std::ifstream(file) >> std::ws, line);
  return line;
}

// Removes a number from the front of `text` and returns it.
std::optional<std::uint32_t> number(std::string_view& text) noexcept {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

// Parses a size as the kernel writes it ("512K"); 0 if it is not a size.
std::size_t bytes_of(std::string_view text) noexcept {
  const auto value = number(text);
  if (!value) return 0;
  const unsigned shift = text == "K" ? 10 : text == "M" ? 20 : 0;
  return std::size_t{*value} << shift;
}

// Number of cores in a list like "0-3,8"; 1 if the list is empty.
int count_cores(std::string_view list) noexcept {
  int cores = 0;
  while (const auto first = number(list)) {
    auto last = first;
    if (list.starts_with('-')) {
      list.remove_prefix(1);
      last = number(list);
    }
    if (!last || *last < *first || *last - *first > 1U << 16) break;
    cores += static_cast<int>(*last - *first) + 1;
    if (!list.starts_with(',')) break;
    list.remove_prefix(1);
  }
  return std::max(cores, 1);
}

}  // namespace

std::uint64_t CacheSizes::streaming_from(int ranks) const noexcept {
  // Ranks are assumed to fill the cores of one cache first. With more ranks than cores, each cache serves its share of
  // the ranks.
  const int spread = (ranks * last_level_cores + cores - 1) / std::max(cores, 1);
  const int sharing = std::max({1, std::min(ranks, last_level_cores), spread});
  return last_level / (2 * static_cast<std::uint64_t>(sharing));
}

CacheSizes cache_sizes(const std::string& folder) {
  CacheSizes result = kUsual;
  int last = 0;
  for (int index = 0; index < 16; ++index) {
    const std::string cache = folder + "/index" + std::to_string(index) + "/";
    const std::string level_text = line_of(cache + "level");
    std::string_view rest = level_text;
    const auto level = number(rest);
    if (!level) break;
    const std::size_t bytes = bytes_of(line_of(cache + "size"));
    if (bytes == 0 || line_of(cache + "type") == "Instruction") continue;
    if (*level == 2) result.level2 = bytes;
    if (static_cast<int>(*level) > last) {
      last = static_cast<int>(*level);
      result.last_level = bytes;
      result.last_level_cores = count_cores(line_of(cache + "shared_cpu_list"));
    }
  }
  result.last_level = std::max(result.last_level, result.level2);
  result.cores = std::max(api::online_cores(), result.last_level_cores);
  return result;
}

CacheSizes cache_sizes() {
  static const CacheSizes known =
      cache_sizes("/sys/devices/system/cpu/cpu" + std::to_string(std::max(api::current_core(), 0)) + "/cache");
  return known;
}

}  // namespace tutti::native

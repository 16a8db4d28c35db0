#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tutti::tools {

/// Message sizes in bytes from "1M", "1K,3K,1M", "1M..512M" (doubling from the first to at most the last) or a mix of
/// them; K, M and G are powers of 1024, also as "MB" and "MiB", and "Mb" is explained as bits. Ascending, without
/// repetition. Throws UsageError that shows what is accepted.
[[nodiscard]] std::vector<std::uint64_t> parse_sizes(std::string_view text);

}  // namespace tutti::tools

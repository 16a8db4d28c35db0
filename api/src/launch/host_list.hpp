#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/export.hpp"

namespace tutti {

/// The hosts of a compressed list as resource managers write it: "n[1-3,07-09],m5" is n1 n2 n3 n07 n08 n09 m5. A name
/// may have several brackets. Empty if the text is malformed or names more than `most` hosts.
[[nodiscard]] TUTTI_API std::vector<std::string> expand_host_list(std::string_view text, std::size_t most = 1U << 20);

/// Element `index` of a compressed list of counts: "2(x3),1" is 2 2 2 1. Nothing if the text is malformed or shorter.
[[nodiscard]] TUTTI_API std::optional<int> count_at(std::string_view text, std::size_t index);

}  // namespace tutti

#pragma once

#include <string>
#include <vector>

namespace tutti::tools {

/// The file that `name` means: a path, or the name of a record that comes with tutti. Throws UsageError that lists
/// those.
[[nodiscard]] std::string find_record(const std::string& name);

/// Names of the records that come with tutti.
[[nodiscard]] std::vector<std::string> shipped_records();

}  // namespace tutti::tools

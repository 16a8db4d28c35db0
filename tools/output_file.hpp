#pragma once

#include <string>
#include <string_view>

namespace tutti::tools {

/// Replaces the file as a whole: readers see the old or the new content, never a part. Throws Error{system}.
void write_file_atomically(const std::string& path, std::string_view content);

}  // namespace tutti::tools

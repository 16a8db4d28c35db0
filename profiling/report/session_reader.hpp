#pragma once

#include <filesystem>

#include "report/profile.hpp"

namespace tutti::profiling {

/// Choices for reading a session.
struct ReadOptions {
  bool events = true;  ///< false: tables only
};

/// Reads all process files of a session's folder, also while they are being written, and merges them. Files that are
/// cut off, of another version or foreign are left out with a warning in the profile. Throws std::runtime_error that
/// names the folder if it cannot be read or holds no session.
[[nodiscard]] Profile read_session(const std::filesystem::path& folder, const ReadOptions& options = {});

}  // namespace tutti::profiling

#pragma once

#include <dirent.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tutti::spi {

/// Names of the entries of a folder, without "." and "..", sorted; empty if it cannot be read. Throws std::bad_alloc
/// when memory runs out, where std::filesystem::directory_iterator ends the process.
inline std::vector<std::string> names_in(const std::string& folder) {
  struct Stream {
    DIR* directory;
    ~Stream() {
      if (directory != nullptr) closedir(directory);
    }
  } const stream{opendir(folder.c_str())};
  std::vector<std::string> names;
  if (stream.directory == nullptr) return names;
  while (const dirent* entry = readdir(stream.directory)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace tutti::spi

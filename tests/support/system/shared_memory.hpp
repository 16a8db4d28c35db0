#pragma once

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

namespace tutti::test {

/// Names in /dev/shm that contain `part`; the filter leaves out files of other programs.
inline std::set<std::string> shared_memory(const std::string& part = "tutti") {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename().string();
    if (name.find(part) != std::string::npos) names.insert(name);
  }
  return names;
}

/// Names in /dev/shm that are not in `before` and that stay for 20 s. A process that is ending gets this time to remove
/// its files, and the short-lived files of tests that run at the same time disappear meanwhile.
inline std::set<std::string> left_in_shared_memory(const std::set<std::string>& before,
                                                   const std::string& part = "tutti") {
  std::set<std::string> left = shared_memory(part);
  std::erase_if(left, [&](const std::string& name) { return before.contains(name); });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!left.empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const std::set<std::string> there = shared_memory(part);
    std::erase_if(left, [&](const std::string& name) { return !there.contains(name); });
  }
  return left;
}

}  // namespace tutti::test

#pragma once

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

namespace tutti::test {

/// What has a name in /dev/shm that contains `part`: other programs of the machine come and go.
inline std::set<std::string> shared_memory(const std::string& part = "tutti") {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename().string();
    if (name.find(part) != std::string::npos) names.insert(name);
  }
  return names;
}

/// What is there that was not before, and stays: a process that is ending gets some seconds to remove it, and others
/// that run at the same time have theirs for a moment.
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

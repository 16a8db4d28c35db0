#include "violations.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "fake_level_zero.h"

namespace fake_level_zero {
namespace {

struct Log {
  std::mutex mutex;
  std::vector<std::string> lines;
};

// Never destroyed, because threads of command lists may still run when the process exits.
Log& log() {
  static auto* instance = new Log;
  return *instance;
}

/// Fails the process if its violations were not taken.
[[gnu::destructor]] void fail_at_exit() {
  const std::scoped_lock lock(log().mutex);
  if (log().lines.empty()) return;
  std::fflush(nullptr);
  for (const std::string& line : log().lines) std::fprintf(stderr, "fake Level Zero driver: %s\n", line.c_str());
  std::fflush(nullptr);
  _exit(kFakeLevelZeroExitCode);
}

}  // namespace

ze_result_t violation(ze_result_t code, const std::string& text) {
  const std::scoped_lock lock(log().mutex);
  log().lines.push_back(text);
  return code;
}

}  // namespace fake_level_zero

size_t fake_level_zero_take_violations(char* text, size_t size) {
  auto& log = fake_level_zero::log();
  const std::scoped_lock lock(log.mutex);
  std::string all;
  for (const std::string& line : log.lines) all += line + "\n";
  if (size > 0) {
    all.resize(std::min(all.size(), size - 1));
    std::memcpy(text, all.c_str(), all.size() + 1);
  }
  const size_t count = log.lines.size();
  log.lines.clear();
  return count;
}

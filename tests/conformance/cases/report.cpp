#include "conformance/cases/report.hpp"

namespace tutti::test {

void Report::fail(std::string message) {
  failures_.fetch_add(1);
  const std::lock_guard lock(mutex_);
  if (kept_.size() < kKept) kept_.push_back(std::move(message));
}

std::string Report::text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const std::string& line : kept_) text += line + "\n";
  if (failures() > kept_.size()) text += "... and " + std::to_string(failures() - kept_.size()) + " more\n";
  return text;
}

}  // namespace tutti::test

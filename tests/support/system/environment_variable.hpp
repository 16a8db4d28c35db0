#pragma once

#include <cstdlib>
#include <string>
#include <utility>

namespace tutti::test {

/// A variable of the environment while the object exists. Only while no other thread runs.
class EnvironmentVariable {
 public:
  EnvironmentVariable(std::string name, const std::string& value) : name_(std::move(name)) {
    setenv(name_.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  ~EnvironmentVariable() { unsetenv(name_.c_str()); }  // NOLINT(concurrency-mt-unsafe)
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  std::string name_;
};

}  // namespace tutti::test

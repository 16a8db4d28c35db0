#pragma once

#include <stdexcept>

namespace tutti::tools {

/// Invalid command line; the message says what is accepted. The command exits with kExitUsage.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tutti::tools

#pragma once

#include <stdexcept>

namespace tutti::tools {

/// The command line is wrong; the message says what is accepted. The command ends with kExitUsage.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tutti::tools

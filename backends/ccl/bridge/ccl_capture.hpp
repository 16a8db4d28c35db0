#pragma once

#include <string>

namespace tutti::ccl {

/// Catches what this thread writes to std::cerr and std::cout while it lives; what other threads write goes where it
/// went before. Any number of threads may catch at the same time.
///
/// oneCCL prints that CCL_LOG_LEVEL has another value than by default, even when that value is to print errors only,
/// and prints an error before it throws it.
class Capture {
 public:
  Capture();
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// The first error that was caught, which names the cause of those that follow; without oneCCL's date and process.
  /// Empty when there was none.
  [[nodiscard]] std::string text() const;

  /// Whether anything is caught at all in this process; at first nothing is.
  static void enable(bool yes) noexcept;

 private:
  std::string caught_;
  std::string* outer_ = nullptr;
  bool active_ = false;
};

}  // namespace tutti::ccl

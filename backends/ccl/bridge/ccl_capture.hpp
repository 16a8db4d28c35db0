#pragma once

#include <string>

namespace tutti::ccl {

/// Captures the output of this thread to std::cerr and std::cout during its lifetime; that of other threads is not
/// affected. Any number of threads may capture at the same time.
///
/// oneCCL prints a warning when CCL_LOG_LEVEL is not the default, even if its value asks for errors only, and prints an
/// error before it throws it.
class Capture {
 public:
  Capture();
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// The first captured error, which names the cause of those that follow, without oneCCL's date and process. Empty if
  /// there was none.
  [[nodiscard]] std::string text() const;

  /// Turns capturing on or off for this process; it is off at first.
  static void enable(bool yes) noexcept;

 private:
  std::string caught_;
  std::string* outer_ = nullptr;
  bool active_ = false;
};

}  // namespace tutti::ccl

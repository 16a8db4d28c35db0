#pragma once

#include <sys/types.h>

#include <functional>

#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

/// A process that reports in place of this one if this one is killed: some launchers kill all ranks at once when one of
/// them has crashed, and that is when a report is wanted most. Create it while this process has one thread.
class ReportGuard {
 public:
  explicit ReportGuard(const std::function<void()>& report);
  /// Ends the guard; this process has reported, or need not.
  ~ReportGuard();
  ReportGuard(const ReportGuard&) = delete;
  ReportGuard& operator=(const ReportGuard&) = delete;

 private:
  spi::FileDescriptor connection_;
  pid_t guard_ = -1;
};

}  // namespace tutti::tools

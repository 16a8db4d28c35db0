#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::test::campaign {

/// Time that all processes of a machine share, in nanoseconds.
[[nodiscard]] std::int64_t shared_clock_ns() noexcept;

/// Writes the progress of a rank to a file, one line per event: "TIME KIND TEXT". Each line is one write, so that a
/// rank that dies leaves whole lines. Neither allocates nor locks: usable from signal handlers and when memory is gone.
class RankReport {
 public:
  /// Ends the process with code 2 if the file cannot be opened.
  explicit RankReport(const char* path) noexcept;

  void line(std::string_view kind, std::string_view text = {}) const noexcept;
  void line(std::string_view kind, std::int64_t number) const noexcept;
  /// The file, for backtraces.
  [[nodiscard]] int descriptor() const noexcept { return file_; }

 private:
  int file_;
};

/// One line of a report.
struct ReportLine {
  std::int64_t time_ns = 0;
  std::string kind;
  std::string text;
};

/// An error that a rank reported.
struct ReportedError {
  std::int64_t time_ns = 0;
  std::string code;
  bool in_setup = false;
  std::vector<int> members;  ///< ranks of the job that are the ranks of the communicator
  std::string message;
};

/// The report of one rank as the campaign reads it.
class RankTrace {
 public:
  RankTrace() = default;
  explicit RankTrace(const std::string& path);

  [[nodiscard]] const std::vector<ReportLine>& lines() const noexcept { return lines_; }
  /// First line of a kind, or null.
  [[nodiscard]] const ReportLine* find(std::string_view kind) const noexcept;
  /// Last line of a kind, or null.
  [[nodiscard]] const ReportLine* find_last(std::string_view kind) const noexcept;
  [[nodiscard]] std::optional<ReportedError> error() const;
  [[nodiscard]] pid_t pid() const noexcept;

 private:
  std::vector<ReportLine> lines_;
};

}  // namespace tutti::test::campaign

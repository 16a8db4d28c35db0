#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "report/report_table.hpp"
#include "text/terminal.hpp"

namespace tutti::tools {

enum class ReportFormat : std::uint8_t { text, markdown, csv };

/// The format of that name, or nothing.
[[nodiscard]] std::optional<ReportFormat> parse_report_format(std::string_view text) noexcept;

/// Collects a report in one of the formats. CSV holds the tables only: blocks of lines, each with its title behind "# "
/// and an empty line between them.
class ReportPrinter {
 public:
  ReportPrinter(ReportFormat format, const Terminal& terminal) : format_(format), terminal_(terminal) {}

  [[nodiscard]] ReportFormat format() const noexcept { return format_; }

  /// Begins a chapter.
  void chapter(std::string_view title);
  void paragraph(std::string_view text);
  /// An item of a list.
  void item(std::string_view text);
  /// A line of its own that is not wrapped.
  void line(std::string_view text);
  /// Adds the table with its title; nothing when it has no rows.
  void add(const ReportTable& table);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  /// Puts an empty line behind the text so far.
  void separate();

  ReportFormat format_;
  Terminal terminal_;
  std::string text_;
  bool is_in_list_ = false;
};

}  // namespace tutti::tools

#include "report/report_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/text.hpp"

namespace tutti::tools {

ReportCell count_cell(std::uint64_t count) { return std::to_string(count); }

ReportCell size_cell(std::uint64_t bytes) { return {format_bytes(bytes), std::to_string(bytes)}; }

ReportCell time_cell(double microseconds) { return {format_time_us(microseconds), raw_number(microseconds)}; }

ReportCell ratio_cell(double ratio) {
  ratio = std::min(ratio, 1e12);  // of a file that was edited by hand
  const bool has_two_decimals = ratio >= 0.095 && ratio < 99.995;
  return {has_two_decimals ? fmt::format("{:.2f}", ratio) : three_digits(ratio), raw_number(ratio)};
}

ReportCell percent_cell(double share) {
  const double percent = share * 100;
  return {fmt::format("{:.{}f} %", percent, std::abs(percent) < 9.95 ? 1 : 0), raw_number(share)};
}

std::string raw_number(double value) {
  std::string text = fmt::format("{:.4f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace tutti::tools

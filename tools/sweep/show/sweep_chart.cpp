#include "sweep/show/sweep_chart.hpp"

#include <algorithm>
#include <tuple>

#include "sweep/show/sweep_layout.hpp"
#include "text/table.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

constexpr std::size_t kNumberWidth = 11;  // " 12.3 GB/s"
constexpr std::size_t kLongestName = 24;
constexpr std::size_t kShortestBar = 10;

bool is_of_same_chart(const SweepRow& a, const SweepRow& b) {
  return a.cell.op == b.cell.op && a.ranks == b.ranks && a.cell.in_place == b.cell.in_place;
}

/// Rows of the chart of `member`, by size, then backend in the order of the results.
std::vector<const SweepRow*> rows_with(const SweepResults& results, const SweepRow& member) {
  std::vector<const SweepRow*> rows;
  for (const SweepRow& row : results.rows) {
    if (is_of_same_chart(row, member)) rows.push_back(&row);
  }
  const auto place = [&](const SweepRow* row) {
    return std::tuple(row->bytes, std::ranges::find(results.backends, row->backend, &BackendSetup::backend) -
                                      results.backends.begin());
  };
  std::ranges::stable_sort(rows, {}, place);
  return rows;
}

std::string title_of(const SweepRow& row) {
  return section_title({row.cell.op, row.ranks, row.cell.in_place}, true) +
         (row.ranks > 1 ? ", bus bandwidth" : ", bandwidth");
}

}  // namespace

std::vector<std::string> chart_lines(const std::vector<const SweepRow*>& rows, const Terminal& terminal,
                                     std::size_t width) {
  double most = 0;
  std::size_t names = 0;
  std::vector<std::string> backends;
  for (const SweepRow* row : rows) {
    if (row->ok()) most = std::max(most, row->shown_gbs());
    names = std::min(std::max(names, row->backend.size()), kLongestName);
    if (std::ranges::find(backends, row->backend) == backends.end()) backends.push_back(row->backend);
  }
  const std::size_t taken = 2 + kSizeWidth + 2 + names + 2 + kNumberWidth;
  const std::size_t room = std::max(width, taken + kShortestBar) - taken;
  std::vector<std::string> lines;
  const SweepRow* previous = nullptr;
  for (const SweepRow* row : rows) {
    const bool is_new_size = previous == nullptr || previous->bytes != row->bytes;
    previous = row;
    std::string line = "  " + pad(is_new_size ? size_text(row->bytes) : "", kSizeWidth, Align::right) + "  " +
                       pad(row->backend.substr(0, names), names, Align::left) + "  ";
    if (row->ok()) {
      const double part = most > 0 ? row->shown_gbs() / most : 0;
      const auto bar = std::max<std::size_t>(static_cast<std::size_t>(part * static_cast<double>(room) + 0.5), 1);
      const auto colour = std::ranges::find(backends, row->backend) - backends.begin();
      line += terminal.coloured(static_cast<int>(colour), std::string(bar, '#'));
      line += concat(' ', three_digits(row->shown_gbs()), " GB/s");
    } else {
      line += row->status.substr(0, room + kNumberWidth);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string to_chart(const SweepResults& results, const Terminal& terminal) {
  std::string text;
  std::vector<const SweepRow*> shown;
  for (const SweepRow& row : results.rows) {
    const auto is_shown = [&](const SweepRow* other) { return is_of_same_chart(row, *other); };
    if (std::ranges::any_of(shown, is_shown)) continue;
    shown.push_back(&row);
    text += concat('\n', terminal.bold(title_of(row)), '\n');
    for (const std::string& line : chart_lines(rows_with(results, row), terminal, terminal.columns()))
      text += line + "\n";
  }
  return text;
}

std::vector<std::string> growing_chart(const SweepResults& results, const SweepRow& last, const Terminal& terminal,
                                       std::size_t height) {
  if (height < 2) return {};
  std::vector<std::string> lines = chart_lines(rows_with(results, last), terminal, terminal.columns() - 1);
  if (lines.size() > height - 1) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(height - 1));
  lines.insert(lines.begin(), terminal.bold(title_of(last)));
  return lines;
}

}  // namespace tutti::tools

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "report/html/html_metrics.hpp"
#include "report/html/html_parts.hpp"
#include "report/html/html_plot.hpp"
#include "report/html/html_text.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

std::string percent(double share) { return concat('+', three_digits(share * 100), " %"); }

/// The cells of a panel by requested size: rounding to whole elements would give each operation columns of its own.
std::map<std::uint64_t, std::uint64_t> bytes_by_request(const ReportPanel& panel, std::size_t file) {
  std::map<std::uint64_t, std::uint64_t> sizes;
  for (const PanelSeries& series : panel.series) {
    if (series.file != file) continue;
    for (const auto& [bytes, row] : series.rows)
      if (row != nullptr) sizes[row->cell.bytes] = bytes;
  }
  return sizes;
}

bool is_complete(const ReportPanel& panel, std::size_t file, std::uint64_t bytes) {
  return std::ranges::all_of(panel.series, [&](const PanelSeries& series) {
    return series.file != file || !series.rows.contains(bytes) || series.ok_row(bytes) != nullptr;
  });
}

std::string winner_cell(const ReportModel& model, const ReportPanel& panel, std::size_t file, std::uint64_t bytes) {
  const std::string mark =
      is_complete(panel, file, bytes) ? "" : R"(<span class="bad" title="a backend has no result here">✕</span>)";
  const Winner* winner = model.winner(panel, file, bytes);
  if (winner == nullptr) return element("td", " class=\"none\"", concat("–", mark));
  const std::size_t backend = model.backend_index(winner->best->backend);
  const std::string title =
      concat(winner->best->backend, ": ", time_text(winner->best->time_us_p50), "; next is ", winner->second->backend,
             ": ", time_text(winner->second->time_us_p50), winner->is_beyond_noise ? "" : " (within the noise)");
  const std::string css = concat("win s", backend % kSeriesStyles, winner->is_beyond_noise ? "" : " tie");
  return element(
      "td", attribute("class", css) + attribute("title", title),
      concat(backend_html(backend, winner->best->backend),
             element("small", "", concat(winner->is_beyond_noise ? "" : "≈ ", percent(winner->margin))), mark));
}

std::string card(std::string_view css, std::string_view value, std::string_view label) {
  return element("div", concat(" class=\"card ", css, '"'),
                 concat(element("strong", "", value), element("span", "", label)));
}

struct Wins {
  std::size_t beyond_noise = 0;
  std::size_t all = 0;
};

}  // namespace

std::string summary_html(const ReportModel& model) {
  std::size_t cells = 0;
  std::size_t incomplete = 0;
  for (const ReportPanel& panel : model.panels) {
    cells += panel.cells();
    incomplete += panel.incomplete_cells();
  }
  std::string cards =
      card("", concat(cells - incomplete, element("small", "", concat(" of ", cells))), "cells measured");
  if (incomplete > 0)
    cards += card("bad", concat("✕ ", incomplete), R"(cells <a href="#failures">failed or missing</a>)");
  if (std::ranges::any_of(model.files, [](const NamedResults& file) { return !file.results.unusable.empty(); })) {
    std::size_t unusable = 0;
    for (const NamedResults& file : model.files) unusable += file.results.unusable.size();
    cards += card("bad", concat("✕ ", unusable), R"(backends <a href="#failures">not usable</a>)");
  }
  std::map<std::size_t, Wins> wins;
  std::size_t contests = 0;
  for (const std::vector<Winner>& winners : model.winners) {
    contests += winners.size();
    for (const Winner& winner : winners) {
      Wins& count = wins[model.backend_index(winner.best->backend)];
      ++count.all;
      count.beyond_noise += winner.is_beyond_noise ? 1 : 0;
    }
  }
  for (const auto& [backend, count] : wins) {
    cards += card(
        concat('s', backend % kSeriesStyles), concat(count.all, element("small", "", concat(" of ", contests))),
        concat(backend_html(backend, model.backends[backend]), " fastest, ", count.beyond_noise, " beyond the noise"));
  }
  return element("div", " class=\"cards\"", cards);
}

std::string winners_html(const ReportModel& model) {
  if (std::ranges::all_of(model.winners, [](const auto& winners) { return winners.empty(); })) return {};
  std::set<std::uint64_t> sizes;
  for (const ReportPanel& panel : model.panels)
    for (std::size_t file = 0; file < model.files.size(); ++file)
      for (const auto& [request, bytes] : bytes_by_request(panel, file)) sizes.insert(request);
  std::string head = element("th", " scope=\"col\"", "operation");
  for (const std::uint64_t size : sizes) head += element("th", " scope=\"col\"", format_bytes(size));
  std::string body;
  for (std::size_t index = 0; index < model.panels.size(); ++index) {
    const ReportPanel& panel = model.panels[index];
    for (std::size_t file = 0; file < model.files.size(); ++file) {
      const auto bytes = bytes_by_request(panel, file);
      if (bytes.empty()) continue;
      const std::string link = element("a", concat(" href=\"#panel-", index, '"'), escape_html(group_text(panel.key)));
      const std::string label =
          model.files.size() == 1 ? "" : element("small", "", escape_html(model.files[file].name));
      std::string row = element("th", " scope=\"row\"", link + label);
      for (const std::uint64_t size : sizes) {
        const auto found = bytes.find(size);
        row += found == bytes.end() ? "<td></td>" : winner_cell(model, panel, file, found->second);
      }
      body += element("tr", "", row);
    }
  }
  return section_html(
      "winners", "Fastest backend by size",
      concat("<p class=\"remark\">The percentage is by how much longer the next best takes; ≈ marks differences within "
             "the noise, <span class=\"bad\">✕</span> sizes at which a backend has no result.</p>",
             table_html("winners fixed", element("tr", "", head), body)));
}

}  // namespace tutti::tools

#include "report/html/html_report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "report/html/html_model.hpp"
#include "report/html/html_plot.hpp"
#include "report/report_files.hpp"
#include "text/text.hpp"
#include "tutti/error.hpp"

namespace tutti::tools {
namespace {

using test::invented_file;
using test::kMiB;

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

/// The part of the page from `begin` to the next `end`.
std::string between(const std::string& page, std::string_view begin, std::string_view end) {
  const std::size_t from = page.find(begin);
  if (from == std::string::npos) return {};
  return page.substr(from, page.find(end, from) - from);
}

std::vector<NamedResults> one_file() { return {invented_file("a.json", 1)}; }

TEST(HtmlReport, IsOneFileWithoutNetwork) {
  const std::string page = to_html(one_file(), {});
  EXPECT_EQ(count(page, "<!DOCTYPE html>"), 1U);
  EXPECT_EQ(count(page, "<script src"), 0U);
  EXPECT_EQ(count(page, "<link"), 0U);
  EXPECT_EQ(count(page, "@import"), 0U);
  EXPECT_EQ(count(page, "{{"), 0U);
}

TEST(HtmlReport, TextOfResultsIsEscaped) {
  const std::string page = to_html(one_file(), {});
  EXPECT_EQ(count(page, "<script>alert"), 0U);
  EXPECT_EQ(count(page, "<b>"), 0U);
  EXPECT_GT(count(page, "&lt;script&gt;alert(&quot;1&quot;)"), 3U);
  EXPECT_EQ(count(page, "</script>"), 3U) << "of the data, Chart.js and the page's script";
}

TEST(HtmlReport, NumbersAreThoseOfTheRows) {
  const auto files = one_file();
  const std::string page = to_html(files, {});
  for (std::size_t index = 0; index < files[0].results.rows.size(); ++index) {
    const SweepRow& row = files[0].results.rows[index];
    const std::string html = between(page, concat("<tr data-file=\"0\" data-row=\"", index, '"'), "</tr>");
    ASSERT_FALSE(html.empty()) << index;
    std::smatch match;
    const bool found = std::regex_search(html, match, std::regex("\"time_us_p50\" data-value=\"([^\"]*)\""));
    EXPECT_EQ(found, row.ok());
    if (found) {
      EXPECT_EQ(std::stod(match[1]), row.time_us_p50);
    }
    if (row.counts) {
      EXPECT_NE(html.find(concat("\"traffic_bytes\" data-value=\"", row.counts->traffic_bytes, '"')), html.npos);
    }
  }
}

TEST(HtmlReport, WinnersAreNamedWithTheirMargin) {
  const std::string winners = between(to_html(one_file(), {}), "<section id=\"winners\"", "</section>");
  EXPECT_NE(winners.find("native: 123 µs; next is mpi: 251 µs\""), std::string::npos) << winners;
  EXPECT_NE(winners.find("+103 %"), std::string::npos);
  EXPECT_NE(winners.find("mpi: 300 µs; next is native: 300 µs (within the noise)"), std::string::npos);
  EXPECT_NE(winners.find("a backend has no result here"), std::string::npos);
}

TEST(HtmlReport, FailuresHaveTheirReasonAndARedMark) {
  const std::string page = to_html(one_file(), {});
  const std::string failures = between(page, "<section id=\"failures\"", "</section>");
  EXPECT_NE(failures.find("✕ failed: &lt;/script&gt;"), std::string::npos);
  EXPECT_NE(failures.find("✕ not usable: "), std::string::npos);
  EXPECT_NE(page.find("✕ 1 of 6 cells has no result"), std::string::npos);
  EXPECT_GT(count(page, "<g class=\"gap\">"), 0U);
}

TEST(HtmlReport, CellsThatASweepDidNotReachAreMissing) {
  auto files = one_file();
  files[0].results.rows.resize(5);
  const std::string page = to_html(files, {});
  EXPECT_NE(page.find("✕ not measured: the sweep ended before"), std::string::npos);
  EXPECT_NE(page.find("✕ 1 of 6 cells has no result"), std::string::npos);
}

TEST(HtmlReport, ResultsWithoutRowsGiveAPage) {
  const std::vector<NamedResults> files = {{"empty", {}}};
  EXPECT_NE(to_html(files, {}).find("nothing was measured"), std::string::npos);
}

TEST(HtmlReport, BaselineMustBeInTheResults) {
  const std::string page = to_html(one_file(), {.baseline = "mpi"});
  EXPECT_NE(page.find("<option value=\"mpi\" selected>"), std::string::npos);
  EXPECT_TRUE(std::regex_search(page, std::regex("data-baseline=\"native\" hidden")));
  try {
    (void)to_html(one_file(), {.baseline = "nccl"});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("\"nccl\" is not in the results; they have native, mpi"),
              std::string::npos);
  }
}

TEST(HtmlReport, SeveralFilesShowChangesBeyondTheNoise) {
  const std::vector<NamedResults> files = {invented_file("a.json", 1), invented_file("b.json", 1.5)};
  const std::string page = to_html(files, {});
  const std::string changes = between(page, "<section id=\"changes\"", "</section>");
  EXPECT_NE(changes.find("b.json against a.json"), std::string::npos);
  EXPECT_EQ(count(changes, ">▲ 1.50×<"), 5U) << "in the matrix";
  EXPECT_EQ(count(changes, ">1.50×<"), 5U) << "in the list";
  EXPECT_NE(changes.find("5 slower"), std::string::npos);
  EXPECT_NE(page.find("native · b.json"), std::string::npos);
  EXPECT_TRUE(between(to_html(one_file(), {}), "<section id=\"changes\"", "</section>").empty());
}

TEST(HtmlReport, ScalingAndBrokenGuidelinesAreShown) {
  auto files = one_file();
  EXPECT_EQ(to_html(files, {}).find("<section id=\"scaling\""), std::string::npos);
  SweepRow row = test::row("native", 123.456789 * 4, kMiB);
  row.ranks = 8;
  row.run_steps_us = {200};
  row.run_computes_us = {100};
  files[0].results.rows.push_back(row);
  const auto base = std::ranges::find_if(files[0].results.rows, [&](const SweepRow& one) {
    return one.backend == "native" && one.bytes == kMiB && one.cell.op == OpKind::allreduce && !one.cell.in_place;
  });
  ASSERT_NE(base, files[0].results.rows.end());
  base->run_steps_us = base->run_computes_us = {100};
  files[0].results.rows.push_back(test::row("mpi", 100, kMiB, OpKind::reduce));
  files[0].results.rows.push_back(test::row("mpi", 50, kMiB, OpKind::broadcast));
  const std::string page = to_html(files, {});
  EXPECT_NE(between(page, "<section id=\"scaling\"", "</section>").find(">0.500×<"), std::string::npos);
  EXPECT_NE(page.find("Steps with and without communication"), std::string::npos);
  const std::string guidelines = between(page, "<section id=\"guidelines\"", "</section>");
  EXPECT_NE(guidelines.find("reduce + broadcast"), std::string::npos);
  EXPECT_NE(guidelines.find("1.67×"), std::string::npos);
}

TEST(HtmlReport, RanksHaveAHeatMap) {
  const std::string page = to_html(one_file(), {});
  EXPECT_EQ(count(page, "<table class=\"heat fixed\">"), 2U);
  EXPECT_NE(page.find("rank 1, 1 MiB: 123 µs, +25.0 % over the fastest rank"), std::string::npos);
  EXPECT_NE(page.find("--heat:1.000"), std::string::npos);
}

TEST(HtmlPlot, LinesBreakAtCellsWithoutResult) {
  auto files = one_file();
  for (SweepRow& row : files[0].results.rows)
    if (row.bytes == 2 * kMiB && row.backend == "native") row.status = "hung";
  const ReportModel model = make_model(files);
  const auto plot = metric_plot(model, model.panels[0], metrics()[0]);
  ASSERT_TRUE(plot.has_value());
  ASSERT_EQ(plot->lines[0].name, "native");
  ASSERT_EQ(plot->lines[0].points.size(), 2U);
  EXPECT_FALSE(plot->lines[0].points[1].is_joined);
  EXPECT_EQ(plot->gaps.size(), 2U);
}

TEST(HtmlPlot, PointsAreInsideTheDrawing) {
  const auto files = one_file();
  const ReportModel model = make_model(files);
  for (const Metric& metric : metrics()) {
    const auto plot = metric_plot(model, model.panels[0], metric);
    if (!plot) continue;
    const std::string svg = to_svg(*plot);
    EXPECT_EQ(count(svg, "<circle"), 3U) << metric.title;
    const std::regex place("cx=\"([^\"]*)\" cy=\"([^\"]*)\"");
    for (std::sregex_iterator at(svg.begin(), svg.end(), place), end; at != end; ++at) {
      EXPECT_GT(std::stod((*at)[1]), 68);
      EXPECT_LT(std::stod((*at)[1]), 546);
      EXPECT_GE(std::stod((*at)[2]), 12);
      EXPECT_LE(std::stod((*at)[2]), 276);
    }
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
  }
}

TEST(HtmlPlot, CountsAreForOneCallOfOneRank) {
  const auto files = one_file();
  const auto host_calls = std::ranges::find(metrics(), "host-calls", &Metric::id);
  ASSERT_NE(host_calls, metrics().end());
  EXPECT_EQ(host_calls->value(files[0].results.rows[0]), 3.0);
  EXPECT_EQ(host_calls->value(files[0].results.rows[5]), std::nullopt);
}

TEST(HtmlPlot, LinesThatLieUponEachOtherAndZerosAreNamed) {
  auto files = one_file();
  files[0].results.rows.erase(files[0].results.rows.begin() + 4, files[0].results.rows.end());
  const ReportModel model = make_model(files);
  const auto host_calls = metric_plot(model, model.panels[0], *std::ranges::find(metrics(), "host-calls", &Metric::id));
  ASSERT_TRUE(host_calls.has_value());
  EXPECT_EQ(host_calls->equal_lines, (std::vector<std::vector<std::string>>{{"native", "mpi"}}));
  for (SweepRow& row : files[0].results.rows)
    if (row.backend == "mpi") row.counts->alloc_bytes = 0;
  const auto allocated = metric_plot(model, model.panels[0], *std::ranges::find(metrics(), "allocated", &Metric::id));
  ASSERT_TRUE(allocated.has_value());
  EXPECT_EQ(allocated->zero_lines, std::vector<std::string>{"mpi"});
  EXPECT_TRUE(allocated->equal_lines.empty());
}

TEST(HtmlPlot, SpeedupIsTimeOfTheBaselineByTime) {
  const auto files = one_file();
  const ReportModel model = make_model(files);
  const auto plot = speedup_plot(model, model.panels[0], 1);
  ASSERT_TRUE(plot.has_value());
  EXPECT_EQ(plot->baseline, "mpi");
  ASSERT_EQ(plot->lines[0].points.size(), 2U) << "mpi has no time at 4 MiB";
  EXPECT_DOUBLE_EQ(plot->lines[0].points[0].y, 251.0000001 / 123.456789);
  EXPECT_EQ(plot->lines[1].points[0].y, 1);
}

}  // namespace
}  // namespace tutti::tools

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>

#include "report/html/html_assets.hpp"
#include "report/html/html_report.hpp"
#include "report/report_files.hpp"
#include "results/results_json.hpp"
#include "support/system/subprocess.hpp"
#include "support/system/temporary_folder.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

constexpr auto kDeadline = std::chrono::seconds(180);

/// Path of a Chromium, or empty.
std::string find_browser() {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path != nullptr ? path : "", ':')) {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
      if (std::string file = concat(folder, '/', name); access(file.c_str(), X_OK) == 0) return file;
    }
  }
  return {};
}

std::string read_file(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

struct Rendered {
  std::string dom;      ///< after the scripts have run
  std::string console;  ///< lines that the page wrote to the browser's console
};

/// Opens the page and ends every process of the browser. Nothing when the browser did not end in time.
std::optional<Rendered> render(const std::string& browser, const std::string& page, const std::string& theme) {
  const tutti::test::TemporaryFolder folder;
  const std::string file = folder.add("report.html", page);
  const std::string script = concat(
      "exec \"$0\" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-breakpad --no-first-run "
      "--disable-background-networking --host-resolver-rules='MAP * ~NOTFOUND' --enable-logging=stderr "
      "--window-size=1400,1000 --virtual-time-budget=10000 --user-data-dir=",
      folder.file("profile"), " --dump-dom 'file://", file, "?theme=", theme, "' >", folder.file("dom"), " 2>",
      folder.file("log"));
  tutti::test::Subprocess process({"sh", "-c", script, browser}, {{"HOME", folder.path().string()}});
  const auto status = process.wait(std::chrono::steady_clock::now() + kDeadline);
  ::kill(-process.pid(), SIGKILL);  // helpers of the browser that outlive it
  if (!status) return {};
  Rendered rendered{.dom = read_file(folder.file("dom")), .console = {}};
  for (const std::string& line : split(read_file(folder.file("log")), '\n'))
    if (line.find(":CONSOLE") != std::string::npos) rendered.console += line + "\n";
  return rendered;
}

/// Numbers of a row in the table of all numbers, by key of the JSON file.
std::map<std::string, double> numbers_in(const std::string& dom, std::size_t file, std::size_t row) {
  std::map<std::string, double> numbers;
  const std::size_t begin = dom.find(concat("<tr data-file=\"", file, "\" data-row=\"", row, '"'));
  if (begin == std::string::npos) return numbers;
  const std::string html = dom.substr(begin, dom.find("</tr>", begin) - begin);
  const std::regex cell("data-field=\"([^\"]*)\" data-value=\"([^\"]*)\"");
  for (std::sregex_iterator at(html.begin(), html.end(), cell), end; at != end; ++at)
    numbers[(*at)[1]] = std::stod((*at)[2]);
  return numbers;
}

void expect_numbers_of_json(const std::string& dom, std::span<const NamedResults> files) {
  for (std::size_t file = 0; file < files.size(); ++file) {
    const auto rows = nlohmann::json::parse(to_json(files[file].results))["rows"];
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const auto shown = numbers_in(dom, file, row);
      for (const char* key : {"time_us_p50", "time_us_min", "time_us_p99", "algbw_gbs", "busbw_gbs", "host_calls",
                              "host_time_us", "device_calls", "device_time_us", "traffic_calls", "traffic_bytes",
                              "alloc_calls", "alloc_bytes", "peak_bytes", "counted_calls"}) {
        const auto found = shown.find(key);
        EXPECT_EQ(found != shown.end(), !rows[row][key].is_null()) << file << ", row " << row << ", " << key;
        if (found != shown.end()) {
          EXPECT_EQ(found->second, rows[row][key].get<double>()) << key;
        }
      }
    }
  }
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

/// `charts`: number of those that Chart.js draws.
void expect_rendered(const std::string& dom, std::span<const NamedResults> files, std::size_t charts) {
  EXPECT_NE(dom.find("data-errors=\"\""), std::string::npos) << dom.substr(0, 300);
  EXPECT_NE(dom.find("class=\"js\""), std::string::npos) << "the script did not run";
  if (kChartLibrary.empty()) charts = 0;
  EXPECT_NE(dom.find(concat("data-charts=\"", charts, '"')), std::string::npos) << dom.substr(0, 300);
  EXPECT_EQ(count(dom, "<canvas"), charts);
  EXPECT_GE(count(dom, "<svg role=\"img\""), std::size_t{10});
  expect_numbers_of_json(dom, files);
}

// Time, bandwidth, the chosen speed-up, host calls and time, device calls and time, copies, allocated and peak bytes.
constexpr std::size_t kCharts = 10;

// Uses the controls as a reader does. The message shows that the test would notice messages of errors.
constexpr std::string_view kReader = R"(<script>
const baseline = document.getElementById("baseline");
baseline.value = "mpi";
baseline.dispatchEvent(new Event("change"));
const shown = Array.from(document.querySelectorAll("figure[data-baseline]")).filter((figure) => !figure.hidden);
const size = document.querySelector(".times th[aria-sort]");
size.click();
size.click();
const first = document.querySelector(".times tbody th").dataset.value;
document.querySelector(".key").click();
const lines = Array.from(document.querySelectorAll("g.line")).filter((line) => line.style.display === "none");
document.documentElement.dataset.reader =
    [shown.length, shown[0].dataset.baseline, first, new Set(lines.map((line) => line.dataset.series)).size].join();
console.error("control");
</script>)";

TEST(HtmlBrowser, RendersInBothThemesWithoutError) {
  const std::string browser = find_browser();
  if (browser.empty()) GTEST_SKIP() << "no Chromium: install the package chromium";

  const std::vector<NamedResults> one = {test::invented_file("a.json", 1)};
  const auto light = render(browser, to_html(one, {}), "light");
  ASSERT_TRUE(light) << "the browser did not end";
  EXPECT_EQ(light->console, "");
  EXPECT_NE(light->dom.find("data-theme=\"light\""), std::string::npos);
  expect_rendered(light->dom, one, kCharts);

  const std::vector<NamedResults> two = {test::invented_file("a.json", 1), test::invented_file("b.json", 1.5)};
  const auto dark = render(browser, to_html(two, {}) + std::string(kReader), "dark");
  ASSERT_TRUE(dark) << "the browser did not end";
  EXPECT_EQ(count(dark->console, ":CONSOLE"), 1U) << dark->console;
  EXPECT_NE(dark->console.find("control"), std::string::npos);
  EXPECT_NE(dark->dom.find("data-theme=\"dark\""), std::string::npos);
  EXPECT_NE(dark->dom.find("data-reader=\"1,mpi,4194304,1\""), std::string::npos) << dark->dom.substr(0, 300);
  expect_rendered(dark->dom, two, kCharts + 1);
}

}  // namespace
}  // namespace tutti::tools

// Comparison tables in Markdown that people made, and their reports.
#include <array>
#include <string>

#include "fuzz.hpp"
#include "report/imported_table.hpp"
#include "tutti/error.hpp"

namespace tutti::fuzz {

namespace {

using namespace tutti::tools;

constexpr std::array<std::string_view, 3> kSeeds = {
    "| | | Total CPU Time | Total CPU calls | | | Total CPU Time | Total CPU calls |\n| --- | --- |\n"
    "| 1 | a | 1.85min | 350753 | | b | 3.12s | 907154 |\n| 2 | a | 304.39ms | 11400 | | b | | |\n"
    "| 4 | a | 1.85min | 387095 | | b | 2.97s | 862776 |\n| 8 | a | 1.87min | 393338 | | b | 2.85s | 827504 |\n"
    "| | | Total GPU Time | Total GPU calls | | | Total GPU Time | Total GPU calls |\n"
    "| 1 | a | 300.79ms | 10200 | | b | 1.28s | 3000 |\n| 2 | a | 1.86min | 391994 | | b | 3.06s | 894462 |\n"
    "| 4 | a | 302.96ms | 11400 | | b | 1.06s | 3000 |\n| 8 | a | 306.18ms | 11400 | | b | 878.28ms | 3000 |\n",
    "All reduce\na X | 1 Hostnames | 2 Processes | 3 Threads |\n| | | Total Mem Bytes | Total Mem calls |\n"
    "| \n \n 1 | a | 6.63GB | 7826 |\n| 64 KiB | a | 1.04s | 63372 |\n",
    ""};
constexpr std::array<std::string_view, 16> kWords = {
    "|",  "\n| ", "\\|", "---",    "Total Alloc Bytes", "Total CPU Time", "0ns",  "18446744073709551615",
    "1M", "h",    "PB",  "\n|\n|", "\x1b[2J",           "\xff",           "1e9s", "99999999999999999999h"};

}  // namespace

const Material material = {kSeeds, kWords};

void try_input(std::string_view input) {
  expect_value_or<Error>([&] {
    const ComparisonTable table = imported_table(input, "table.md");
    require(!table.columns.empty() && !table.sizes().empty(), "a table has no backend or no size");
    for (const ReportFormat format : {ReportFormat::text, ReportFormat::markdown, ReportFormat::csv}) {
      ReportPrinter printer(format, Terminal(-1));
      print(printer, table);
      require(format == ReportFormat::csv || printer.text().find('\x1b') == std::string::npos,
              "a control character of the file is printed");
    }
  });
}

}  // namespace tutti::fuzz

#include "report/full_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/change_tables.hpp"
#include "report/result_tables.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

constexpr const char* kChangeLegend =
    "SLOWER, faster: the times differ beyond the noise, which is the interval that holds the median of the runs with "
    "95 %. With fewer than 6 runs it reaches at least 10 % to either side, because little is known about the spread; "
    "measure with --runs 7 to see smaller changes.";

constexpr const char* kWinnerLegend =
    "Times are medians. The margin is the share by which the next best backend takes longer; it is beyond the noise "
    "when the intervals of both do not overlap.";

constexpr const char* kGuidelineLegend =
    "A library breaks a guideline when two of its own operations do the work of one in less time, beyond the noise.";

constexpr const char* kScalingLegend =
    "GB/s: throughput, the data of all ranks divided by the median time. Speed-up: throughput against that of the "
    "fewest ranks; "
    "efficiency: speed-up divided by the growth of the number of ranks.";

constexpr const char* kStepLegend =
    "With: a step of a computation on each rank, the same work whatever their number, and the operation. Without: the "
    "computation alone. Steps/s: of all ranks together.";

class FullReport {
 public:
  FullReport(const ReportInput& input, ReportPrinter& printer) : input_(input), printer_(printer) {}

  void print_all() {
    for (const ComparisonTable& table : input_.imported) print(printer_, table);
    if (input_.files.empty()) return;
    print_measurements();
    if (has_several()) print_changes();
    print_times();
    print_costs();
    print_each(&scaling_tables, "Scaling", kScalingLegend);
    print_each(&step_tables, "Scaling with and without communication", kStepLegend);
    print_each(one_table<&guideline_table>, "Performance guidelines", kGuidelineLegend);
    print_each(one_table<&trouble_table>, "Failures", "");
  }

 private:
  using Tables = std::vector<ReportTable> (*)(const SweepResults&);

  template <ReportTable (*Make)(const SweepResults&)>
  static std::vector<ReportTable> one_table(const SweepResults& results) {
    return {Make(results)};
  }

  [[nodiscard]] bool has_several() const noexcept { return input_.files.size() > 1; }

  /// Tables of several files need the name of theirs.
  [[nodiscard]] ReportTable named(ReportTable table, const NamedResults& file) const {
    if (has_several()) table.title = concat(file.name, ": ", table.title);
    return table;
  }

  void print_measurements() {
    printer_.chapter("Measurements");
    ReportTable environment = environment_table(input_.files);
    if (printer_.format() != ReportFormat::csv) environment.title.clear();
    printer_.add(environment);
    for (const NamedResults& file : input_.files) printer_.add(named(backend_table(file.results), file));
  }

  void print_changes() {
    printer_.chapter("Changes");
    for (const NamedResults& file : std::span(input_.files).subspan(1))
      printer_.item(change_summary(input_.files.front(), file) + ".");
    for (const ReportTable& table : change_tables(input_.files)) printer_.add(table);
    printer_.paragraph(kChangeLegend);
    if (!input_.regression_share) return;
    const std::vector<std::string> lines = regression_lines(input_);
    const std::string limit = fmt::format("{:g} %", *input_.regression_share * 100);
    printer_.paragraph(lines.empty() ? concat("No cell is slower by more than ", limit, " beyond the noise.")
                                     : concat("Regressions, slower by more than ", limit, " or failing now:"));
    for (const std::string& line : lines) printer_.item(line);
  }

  void print_times() {
    printer_.chapter("Times");
    for (const NamedResults& file : input_.files) {
      for (ReportTable& table : time_tables(file.results, input_.baseline)) printer_.add(named(std::move(table), file));
    }
    if (!input_.baseline.empty())
      printer_.paragraph(concat("Speed-up: time of ", input_.baseline, " divided by the time of the backend."));
    printer_.paragraph(kWinnerLegend);
  }

  /// All files and imported tables beside each other, where they have the same cells.
  void print_costs() {
    std::vector<ComparisonTable> tables;
    for (const NamedResults& file : input_.files) {
      for (ComparisonTable& table : comparison_tables(file.results)) {
        if (!has_several()) {
          tables.push_back(std::move(table));
          continue;
        }
        auto found = std::ranges::find(tables, table.title, &ComparisonTable::title);
        if (found == tables.end()) {
          found = tables.insert(tables.end(), ComparisonTable{.title = table.title, .columns = {}, .ops = table.ops});
        }
        append_columns(*found, table, file.name);
        for (const std::string& remark : table.remarks) found->remarks.push_back(concat(file.name, ": ", remark));
      }
    }
    if (tables.empty()) printer_.paragraph("No cell was counted: there are no tables of calls and bytes.");
    for (ComparisonTable& table : tables) {
      add_imported(table);
      print(printer_, table);
    }
  }

  void add_imported(ComparisonTable& table) const {
    for (const ComparisonTable& imported : input_.imported) {
      const bool is_same =
          imported.ops.empty() || std::ranges::find_first_of(imported.ops, table.ops) != imported.ops.end();
      if (!is_same) continue;
      append_columns(table, imported, imported.title);
      table.remarks.push_back(
          concat(imported.title, ": its totals are of other calls; marks as [1] refer to its remarks above."));
    }
  }

  void print_each(Tables make, std::string_view title, std::string_view legend) {
    bool any = false;
    for (const NamedResults& file : input_.files) {
      for (ReportTable& table : make(file.results)) {
        if (table.empty()) continue;
        if (!any) printer_.chapter(title);
        any = true;
        printer_.add(named(std::move(table), file));
      }
    }
    if (any) printer_.paragraph(legend);
  }

  const ReportInput& input_;
  ReportPrinter& printer_;
};

}  // namespace

std::string full_report(const ReportInput& input, ReportFormat format, const Terminal& terminal) {
  ReportPrinter printer(format, terminal);
  FullReport(input, printer).print_all();
  return printer.text();
}

std::vector<std::string> regression_lines(const ReportInput& input) {
  std::vector<std::string> lines;
  if (!input.regression_share) return lines;
  for (std::size_t i = 1; i < input.files.size(); ++i) {
    const std::vector<Change> changes = compare_results(input.files.front().results, input.files[i].results);
    for (const Change& change : find_regressions(changes, *input.regression_share)) {
      const std::string text = regression_text(change);
      lines.push_back(input.files.size() > 2 ? concat(input.files[i].name, ": ", text) : text);
    }
  }
  return lines;
}

}  // namespace tutti::tools

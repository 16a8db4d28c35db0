#include "report/html/html_report.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "report/html/html_assets.hpp"
#include "report/html/html_parts.hpp"
#include "report/html/html_plot.hpp"
#include "report/html/html_text.hpp"
#include "text/text.hpp"
#include "tutti/error.hpp"

namespace tutti::tools {
namespace {

std::size_t baseline_index(const ReportModel& model, const std::string& name) {
  if (name.empty()) return 0;
  const std::size_t index = model.backend_index(name);
  if (index == model.backends.size()) {
    throw Error(ErrorCode::config,
                concat("baseline \"", name, "\" is not in the results; they have ", join(model.backends, ", ")));
  }
  return index;
}

/// Writes the plots of the page and collects their data for Chart.js.
class PlotSection {
 public:
  PlotSection(const ReportModel& model, std::size_t baseline) : model_(model), baseline_(baseline) {}

  std::string panel_html(const ReportPanel& panel) {
    std::string html;
    std::vector<std::string> absent;
    for (const Metric& metric : metrics()) {
      if (!has_values(panel, metric)) {
        absent.push_back(std::string(metric.title));
      } else if (const auto plot = metric_plot(model_, panel, metric)) {
        html += figure(*plot, false);
      }
      if (metric.id == "bandwidth") html += speedups(panel);
    }
    if (!absent.empty())
      html += element("p", " class=\"remark absent\"",
                      concat("Nothing recorded, or 0 in all cells: ", escape_html(join(absent, ", ")), "."));
    return element("div", " class=\"plots\"", html);
  }

  [[nodiscard]] const nlohmann::ordered_json& data() const noexcept { return data_; }

 private:
  /// One plot for each baseline; the script shows the one that is chosen.
  std::string speedups(const ReportPanel& panel) {
    std::string html;
    for (std::size_t backend = 0; model_.backends.size() > 1 && backend < model_.backends.size(); ++backend) {
      const auto plot = speedup_plot(model_, panel, backend);
      if (plot) {
        html += figure(*plot, backend != baseline_);
      } else {
        html += element("figure",
                        concat(" class=\"plot\"", attribute("data-baseline", model_.backends[backend]),
                               backend == baseline_ ? "" : " hidden"),
                        concat("<figcaption><h4>Speed-up</h4></figcaption><p class=\"remark\">",
                               escape_html(model_.backends[backend]), " has no results here.</p>"));
      }
    }
    return html;
  }

  std::string figure(const Plot& plot, bool is_hidden) {
    const std::string attributes =
        concat(" class=\"plot\"", attribute("data-plot", std::to_string(data_.size())),
               plot.baseline.empty() ? "" : attribute("data-baseline", plot.baseline), is_hidden ? " hidden" : "");
    data_.push_back(plot_json(plot));
    const std::string gaps = plot.gaps.empty() ? "" : R"( <span class="bad" title="incomplete">✕ incomplete</span>)";
    const std::string caption = concat(element("h4", "", escape_html(plot.title) + gaps),
                                       element("p", " class=\"remark\"", escape_html(plot.remark)));
    std::string remarks;
    const auto remark = [&](std::string_view label, const std::vector<std::string>& series) {
      remarks += element("p", " class=\"remark\"", concat(label, escape_html(join(series, ", "))));
    };
    for (const std::vector<std::string>& group : plot.equal_lines) remark("Equal: ", group);
    if (!plot.zero_lines.empty()) remark("0 at all sizes: ", plot.zero_lines);
    return element(
        "figure", attributes,
        concat(element("figcaption", "", caption), element("div", " class=\"frame\"", to_svg(plot)), remarks));
  }

  const ReportModel& model_;
  std::size_t baseline_;
  nlohmann::ordered_json data_ = nlohmann::ordered_json::array();
};

std::string legend_html(const ReportModel& model, const ReportPanel& panel) {
  std::string html;
  for (const PanelSeries& series : panel.series) {
    const std::string name = model.name_of(series);
    const std::string css = concat("key s", series.backend % kSeriesStyles, " f", series.file % kSeriesStyles);
    html += element(
        "button",
        concat(" type=\"button\" aria-pressed=\"true\"", attribute("class", css), attribute("data-series", name)),
        concat("<svg viewBox=\"0 0 34 12\" aria-hidden=\"true\"><path d=\"M0 6H34\"/>",
               marker_svg(series.backend, 17, 6, 4), "</svg>", escape_html(name)));
  }
  return element("div", " class=\"legend\"", html);
}

std::string panel_html(const ReportModel& model, std::size_t index, PlotSection& plots) {
  const ReportPanel& panel = model.panels[index];
  const std::size_t incomplete = panel.incomplete_cells();
  const std::string badge = incomplete == 0
                                ? ""
                                : concat(R"( <a class="badge" href="#failures">✕ )", incomplete, " of ", panel.cells(),
                                         incomplete == 1 ? " cells has no result</a>" : " cells have no result</a>");
  std::string html = element("h3", "", concat(escape_html(group_text(panel.key)), badge));
  html += legend_html(model, panel) + plots.panel_html(panel);
  html += "<h4>Time and bus bandwidth</h4>" + times_html(model, panel) + heat_html(model, panel);
  html += element("details", " class=\"all-numbers\" open",
                  concat("<summary>All numbers</summary><p class=\"remark\">Counts and their times are totals of all "
                         "ranks and all counted calls.</p>",
                         numbers_html(model, panel)));
  return element("section", concat(" class=\"panel\"", attribute("id", concat("panel-", index))), html);
}

std::string panels_html(const ReportModel& model, PlotSection& plots) {
  std::string links;
  std::string panels;
  for (std::size_t index = 0; index < model.panels.size(); ++index) {
    links += element("a", concat(" href=\"#panel-", index, '"'), escape_html(group_text(model.panels[index].key)));
    panels += panel_html(model, index, plots);
  }
  if (panels.empty()) return "<p class=\"bad\">✕ The results have no rows: nothing was measured.</p>";
  return element("nav", " class=\"tabs\" aria-label=\"operations\"", links) + panels;
}

std::string baselines_html(const ReportModel& model, std::size_t baseline) {
  std::string html;
  for (std::size_t backend = 0; backend < model.backends.size(); ++backend) {
    html +=
        element("option", concat(attribute("value", model.backends[backend]), backend == baseline ? " selected" : ""),
                escape_html(model.backends[backend]));
  }
  return html;
}

std::string files_html(std::span<const NamedResults> files) {
  std::string items;
  for (const NamedResults& file : files) {
    const std::string& begun = file.results.head.begun;
    const std::string text = concat(machine_text(file.results), begun.empty() ? "" : ", ", begun);
    items += element("li", "", concat(element("strong", "", escape_html(file.name)), ' ', escape_html(text)));
  }
  return element("ul", " class=\"files\"", items);
}

}  // namespace

std::string to_html(std::span<const NamedResults> files, const HtmlOptions& options) {
  const ReportModel model = make_model(files);
  const std::size_t baseline = baseline_index(model, options.baseline);
  PlotSection plots(model, baseline);
  const std::string panels = panels_html(model, plots);
  std::vector<std::string> names;
  for (const NamedResults& file : files) names.push_back(file.name);
  const nlohmann::ordered_json data = {{"plots", plots.data()}};
  return fill_template(kReportPage, {{"title", escape_html(concat("tutti sweep: ", join(names, ", ")))},
                                     {"style", std::string(kReportStyle)},
                                     {"files", files_html(files)},
                                     {"baselines", baselines_html(model, baseline)},
                                     {"summary", summary_html(model)},
                                     {"changes", changes_html(model)},
                                     {"winners", winners_html(model)},
                                     {"guidelines", guidelines_html(model)},
                                     {"panels", panels},
                                     {"scaling", scaling_html(model)},
                                     {"failures", failures_html(model)},
                                     {"environment", environment_html(model)},
                                     {"data", script_json(data)},
                                     {"chart-library", std::string(kChartLibrary)},
                                     {"script", std::string(kReportScript)}});
}

}  // namespace tutti::tools

#include <algorithm>

#include "report/html/html_parts.hpp"
#include "report/html/html_text.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

std::string property(std::string_view name, std::string_view value) {
  if (value.empty()) return {};
  return concat(element("dt", "", escape_html(name)), element("dd", "", escape_html(value)));
}

std::string count(std::uint64_t number, std::string_view one, std::string_view many) {
  return number == 0 ? "" : concat(number, ' ', number == 1 ? one : many);
}

std::string head_html(const SweepResults& results) {
  const SweepHead& head = results.head;
  std::string html = property("tutti", head.tutti) + property("begun", head.begun) + property("host", head.hostname);
  html += property("CPU", head.cpu);
  html += property("cores", head.cores > 0 ? std::to_string(head.cores) : "");
  html += property("memory", head.memory_bytes > 0 ? format_bytes_rounded(head.memory_bytes) : "");
  html += property("SIMD kernels", head.kernels);
  html += property("buffers", concat(results.device, " memory"));
  html += property("settings", join(head.settings, "\n"));
  return element("dl", " class=\"facts\"", html);
}

std::string backend_facts(const BackendSetup& setup) {
  std::vector<std::string> numbers = {
      count(setup.hostnames, "host", "hosts"), count(setup.processes, "process", "processes"),
      count(setup.threads, "thread", "threads"), count(setup.devices, "device", "devices"),
      count(setup.subdevices, "sub-device", "sub-devices")};
  std::erase(numbers, "");
  return element("dl", " class=\"facts\"",
                 concat(property("version", setup.version), property("library", setup.library),
                        property("launcher", setup.launcher.empty() ? "tutti" : join(setup.launcher, " ")),
                        property("variables", join(setup.variables, "\n")),
                        property("settings", join(setup.settings, "\n")), property("ranks on", join(numbers, ", "))));
}

/// Rows of one backend in one panel with the same text.
struct Remark {
  std::size_t panel = 0;
  const PanelSeries* series = nullptr;
  std::string text;
  bool is_failure = false;
  std::vector<std::string> sizes = {};
};

std::string text_of(const SweepRow& row) {
  std::vector<std::string> parts;
  if (!row.ok()) parts.push_back(row.status);
  if (!row.emulated.empty()) parts.push_back("emulated: " + row.emulated);
  if (row.is_staged) parts.emplace_back("staged through host memory");
  if (!row.note.empty()) parts.push_back(row.note);
  return join(parts, "; ");
}

std::vector<Remark> remarks_of(const ReportModel& model) {
  std::vector<Remark> remarks;
  for (std::size_t panel = 0; panel < model.panels.size(); ++panel) {
    for (const PanelSeries& series : model.panels[panel].series) {
      for (const auto& [bytes, row] : series.rows) {
        const std::string text = row == nullptr ? "not measured: the sweep ended before" : text_of(*row);
        if (text.empty()) continue;
        const auto same = [&](const Remark& remark) { return remark.series == &series && remark.text == text; };
        auto found = std::ranges::find_if(remarks, same);
        if (found == remarks.end()) {
          remarks.push_back({panel, &series, text, row == nullptr || !row->ok()});
          found = remarks.end() - 1;
        }
        found->sizes.push_back(format_bytes(bytes));
      }
    }
  }
  return remarks;
}

std::string remark_rows(const ReportModel& model, const std::vector<Remark>& remarks, bool failures) {
  std::string rows;
  for (const Remark& remark : remarks) {
    if (remark.is_failure != failures) continue;
    const ReportPanel& panel = model.panels[remark.panel];
    const bool everywhere = remark.sizes.size() == remark.series->rows.size();
    std::string cells =
        element("td", " class=\"text\"", backend_html(remark.series->backend, model.name_of(*remark.series)));
    cells += element("td", " class=\"text\"", escape_html(group_text(panel.key)));
    cells += element("td", " class=\"text\"", everywhere ? "all sizes" : join(remark.sizes, ", "));
    cells += element("td", failures ? " class=\"text bad\"" : " class=\"text\"",
                     concat(failures ? "✕ " : "", escape_html(remark.text)));
    rows += element("tr", "", cells);
  }
  return rows;
}

std::string unusable_rows(const ReportModel& model) {
  std::string rows;
  for (const NamedResults& file : model.files) {
    for (const UnusableBackend& backend : file.results.unusable) {
      const std::string name = model.files.size() == 1 ? backend.name : concat(backend.name, " · ", file.name);
      rows +=
          element("tr", "",
                  concat(element("td", " class=\"text\"", escape_html(name)), "<td class=\"text\">–</td><td>–</td>",
                         element("td", " class=\"text bad\"", concat("✕ not usable: ", escape_html(backend.reason)))));
    }
  }
  return rows;
}

constexpr std::string_view kRemarkHead =
    "<tr><th scope=\"col\" class=\"text\">backend</th><th scope=\"col\" class=\"text\">operation</th>"
    "<th scope=\"col\" class=\"text\">sizes</th><th scope=\"col\" class=\"text\">reason</th></tr>";

}  // namespace

std::string machine_text(const SweepResults& results) {
  const SweepHead& head = results.head;
  std::vector<std::string> parts = {head.hostname, head.cpu};
  if (head.cores > 0) parts.push_back(concat(head.cores, head.cores == 1 ? " core" : " cores"));
  parts.push_back(head.kernels);
  parts.push_back(concat(results.device, " memory"));
  std::erase(parts, "");
  return join(parts, ", ");
}

std::string failures_html(const ReportModel& model) {
  const std::vector<Remark> remarks = remarks_of(model);
  const std::string failures = remark_rows(model, remarks, true) + unusable_rows(model);
  const std::string notes = remark_rows(model, remarks, false);
  std::string html = failures.empty() ? "<p>No failure: every cell was measured and every result was checked.</p>"
                                      : table_html("remarks", kRemarkHead, failures);
  if (!notes.empty()) html += concat("<h3>Notes</h3>", table_html("remarks", kRemarkHead, notes));
  return section_html("failures", "Failures and missing data", html);
}

std::string environment_html(const ReportModel& model) {
  std::string html;
  for (const NamedResults& file : model.files) {
    if (model.files.size() > 1) html += element("h3", "", escape_html(file.name));
    html += head_html(file.results);
    std::string backends;
    for (const BackendSetup& setup : file.results.backends) {
      const std::size_t index = model.backend_index(setup.backend);
      backends += element("div", " class=\"setup\"",
                          concat(element("h4", "", backend_html(index, setup.backend)), backend_facts(setup)));
    }
    html += element("div", " class=\"setups\"", backends);
  }
  return section_html("environment", "Environment", html);
}

}  // namespace tutti::tools

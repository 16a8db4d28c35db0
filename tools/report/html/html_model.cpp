#include "report/html/html_model.hpp"

#include <algorithm>
#include <set>

#include "text/text.hpp"

namespace tutti::tools {
namespace {

std::size_t index_of(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  const auto index = static_cast<std::size_t>(found - names.begin());
  if (found == names.end()) names.push_back(name);
  return index;
}

ReportPanel& panel_of(std::vector<ReportPanel>& panels, const SweepRow& row) {
  const CellKey key = panel_key(key_of(row));
  const auto found = std::ranges::find(panels, key, &ReportPanel::key);
  return found != panels.end() ? *found : panels.emplace_back(ReportPanel{.key = key, .sizes = {}, .series = {}});
}

PanelSeries& series_of(ReportPanel& panel, std::size_t file, std::size_t backend) {
  const auto found = std::ranges::find_if(
      panel.series, [&](const PanelSeries& series) { return series.file == file && series.backend == backend; });
  if (found != panel.series.end()) return *found;
  return panel.series.emplace_back(PanelSeries{.file = file, .backend = backend, .rows = {}});
}

/// Adds empty cells where the file has results of other backends: a sweep that was interrupted left them out.
void add_missing_cells(ReportModel& model, ReportPanel& panel, std::size_t file) {
  std::set<std::uint64_t> sizes;
  for (const PanelSeries& series : panel.series) {
    if (series.file != file) continue;
    for (const auto& [bytes, row] : series.rows) sizes.insert(bytes);
  }
  if (sizes.empty()) return;
  for (const BackendSetup& setup : model.files[file].results.backends)
    (void)series_of(panel, file, index_of(model.backends, setup.backend));
  for (PanelSeries& series : panel.series) {
    if (series.file != file) continue;
    for (const std::uint64_t bytes : sizes) series.rows.try_emplace(bytes, nullptr);
  }
}

void finish(ReportPanel& panel) {
  std::set<std::uint64_t> sizes;
  for (const PanelSeries& series : panel.series)
    for (const auto& [bytes, row] : series.rows) sizes.insert(bytes);
  panel.sizes.assign(sizes.begin(), sizes.end());
  std::ranges::sort(panel.series, {}, [](const PanelSeries& series) { return std::pair(series.file, series.backend); });
}

}  // namespace

const SweepRow* PanelSeries::ok_row(std::uint64_t bytes) const {
  const auto found = rows.find(bytes);
  return found == rows.end() || found->second == nullptr || !found->second->ok() ? nullptr : found->second;
}

std::size_t ReportPanel::cells() const {
  std::size_t count = 0;
  for (const PanelSeries& line : series) count += line.rows.size();
  return count;
}

std::size_t ReportPanel::incomplete_cells() const {
  std::size_t count = 0;
  for (const PanelSeries& line : series)
    count += static_cast<std::size_t>(
        std::ranges::count_if(line.rows, [&](const auto& entry) { return line.ok_row(entry.first) == nullptr; }));
  return count;
}

std::string ReportModel::name_of(const PanelSeries& series) const {
  return files.size() == 1 ? backends[series.backend]
                           : concat(backends[series.backend], " · ", files[series.file].name);
}

std::size_t ReportModel::backend_index(const std::string& name) const {
  return static_cast<std::size_t>(std::ranges::find(backends, name) - backends.begin());
}

const Winner* ReportModel::winner(const ReportPanel& panel, std::size_t file, std::uint64_t bytes) const {
  const auto found = std::ranges::find_if(winners[file], [&](const Winner& winner) {
    return panel_key(winner.key) == panel.key && winner.best->bytes == bytes;
  });
  return found == winners[file].end() ? nullptr : &*found;
}

ReportModel make_model(std::span<const NamedResults> files) {
  ReportModel model{.files = files, .backends = {}, .panels = {}, .winners = {}};
  for (std::size_t file = 0; file < files.size(); ++file) {
    model.winners.push_back(find_winners(files[file].results));
    for (const BackendSetup& setup : files[file].results.backends) (void)index_of(model.backends, setup.backend);
    for (const SweepRow& row : files[file].results.rows) {
      PanelSeries& series = series_of(panel_of(model.panels, row), file, index_of(model.backends, row.backend));
      // Of two rows the later one counts: a resumed sweep measured the cell again.
      series.rows[row.bytes] = &row;
    }
  }
  for (ReportPanel& panel : model.panels) {
    for (std::size_t file = 0; file < files.size(); ++file) add_missing_cells(model, panel, file);
    finish(panel);
  }
  return model;
}

CellKey panel_key(CellKey key) noexcept {
  key.cell.bytes = 0;
  return key;
}

}  // namespace tutti::tools

#include "topo/topo_text.hpp"

#include <algorithm>
#include <vector>

#include "text/report.hpp"
#include "text/table.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

void report_host(Report& report, const HostMap& map) {
  report.heading("Host " + map.host, map.cpu);
  Table table({{"NUMA node"}, {"memory", Align::right}, {"CPUs"}});
  for (const NumaNode& node : map.numa_nodes) {
    table.add({std::to_string(node.node), format_bytes_rounded(node.memory_bytes), node.cpus});
  }
  report.add(table);
}

std::string memory_text(const MapDevice& device) {
  if (device.memory_bytes == 0) return "-";
  const std::string total = format_bytes_rounded(device.memory_bytes);
  if (device.used_bytes < 0) return total;
  const std::string used =
      device.used_bytes == 0 ? "0" : format_bytes_rounded(static_cast<std::uint64_t>(device.used_bytes));
  return concat(used, " of ", total);
}

void report_devices(Report& report, const HostMap& map) {
  report.heading("Devices", "memory: used of total; total only if the driver does not report the use");
  Table table({{"label"}, {"TUTTI_DEVICE"}, {"memory", Align::right}, {"address"}, {"description"}});
  for (const MapDevice& device : map.devices) {
    std::vector<std::string> facts = {device.description};
    if (device.compute_units > 0)
      facts.push_back(concat(device.compute_units, device.compute_units == 1 ? " unit" : " units"));
    table.add({device.label, join(device.names, ", "), memory_text(device), or_dash(device.address),
               join(facts, ", ") + (device.fake ? " (fake)" : "")});
  }
  for (const Nic& nic : map.nics) table.add({nic.label, "", "", or_dash(nic.address), nic.name});
  report.add(table);
}

void report_unusable(Report& report, const HostMap& map) {
  Table table({{"not usable"}, {"why"}});
  for (const MapModule& module : map.modules) {
    if (!module.usable) table.add({module.name, module.reason});
  }
  if (table.empty()) return;
  report.line("");
  report.add(table);
}

std::vector<MatrixColumn> matrix_of(const HostMap& map) {
  MatrixColumn labels{"", {}};
  MatrixColumn cpus{"CPU affinity", {}};
  MatrixColumn nodes{"NUMA affinity", {}};
  const auto add_row = [&](const auto& row) {
    labels.cells.push_back(row.label);
    cpus.cells.push_back(or_dash(row.cpus));
    nodes.cells.push_back(or_dash(row.numa_nodes));
  };
  std::ranges::for_each(map.devices, add_row);
  std::ranges::for_each(map.nics, add_row);
  std::vector<MatrixColumn> columns = {labels};
  for (const std::string& to : labels.cells) {
    columns.push_back({to, {}});
    for (const std::string& from : labels.cells) columns.back().cells.emplace_back(path_between(map, from, to));
  }
  columns.push_back(std::move(cpus));
  columns.push_back(std::move(nodes));
  return columns;
}

void report_matrix(Report& report, const HostMap& map) {
  if (map.devices.empty() && map.nics.empty()) return;
  report.heading("Links");
  report.matrix(matrix_of(map));
}

void report_notes(Report& report, const HostMap& map) {
  for (const std::string& note : map.notes) {
    report.line("");
    report.paragraph(note);
  }
}

void report_legend(Report& report, std::span<const HostMap> hosts) {
  const std::vector<LegendEntry> entries = legend(hosts);
  if (entries.empty()) return;
  report.heading("Legend", "path between two devices");
  Table table({{""}, {""}});
  for (const LegendEntry& entry : entries) table.add({std::string(entry.sign), std::string(entry.meaning)});
  report.add(table);
}

void report_ranks(Report& report, const HostMap& map, bool is_predicted) {
  if (map.ranks.empty()) return;
  report.heading("Ranks",
                 is_predicted ? concat("predicted placement for -n ", map.ranks.size()) : "of this job on " + map.host);
  Table table({{"rank", Align::right}, {"on"}, {"TUTTI_DEVICE"}, {"CPUs"}, {"why"}});
  for (const MapRank& rank : map.ranks) {
    table.add({std::to_string(rank.rank), rank.label.empty() ? "host" : rank.label, rank.device, or_dash(rank.cpus),
               rank.reason + (rank.sharers > 1 && !rank.label.empty() ? concat("; shared by ", rank.sharers) : "")});
  }
  report.add(table);
  const bool is_on_host = std::ranges::all_of(map.ranks, [](const MapRank& rank) { return rank.label.empty(); });
  if (is_predicted && is_on_host && !map.devices.empty()) {
    const std::string& name = map.devices.front().names.front();
    report.line("");
    report.paragraph(concat("To place the ranks on devices, set TUTTI_DEVICE=", name.substr(0, name.find(':')),
                            " or use --device ", name.substr(0, name.find(':')), "."));
  }
}

}  // namespace

std::string topo_text(std::span<const HostMap> hosts, bool is_predicted, const Terminal& terminal, std::size_t width) {
  Report report(terminal, width);
  for (const HostMap& map : hosts) {
    report_host(report, map);
    report_devices(report, map);
    report_unusable(report, map);
    report_matrix(report, map);
    report_notes(report, map);
    if (hosts.size() == 1) report_legend(report, hosts);
    report_ranks(report, map, is_predicted);
  }
  if (hosts.size() > 1) report_legend(report, hosts);
  return report.text();
}

}  // namespace tutti::tools

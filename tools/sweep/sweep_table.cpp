#include "sweep/sweep_table.hpp"

#include <algorithm>
#include <span>

#include "text/table.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

constexpr std::size_t kTimeWidth = 8;
constexpr std::size_t kBandwidthWidth = 8;
constexpr std::size_t kDeviceWidth = 8;
constexpr std::size_t kMarkWidth = 1;  // the asterisk of the fastest
constexpr std::size_t kSizeWidth = 8;

const SweepRow* find_row(const SweepResults& results, const SweepCell& cell, const std::string& backend) {
  const auto found = std::ranges::find_if(
      results.rows, [&](const SweepRow& row) { return row.cell == cell && row.backend == backend; });
  return found == results.rows.end() ? nullptr : &*found;
}

const SweepRow* fastest(const SweepResults& results, const SweepCell& cell) {
  const SweepRow* best = nullptr;
  int competitors = 0;
  for (const SweepRow& row : results.rows) {
    if (row.cell != cell || !row.ok()) continue;
    ++competitors;
    if (best == nullptr || row.time_us_p50 < best->time_us_p50) best = &row;
  }
  return competitors > 1 ? best : nullptr;
}

/// Whether any rank is on a device; as long as no rank has reported its device, whether --device asked for one.
bool is_on_device(const SweepResults& results) {
  const auto is_known = [](const SweepRow& row) { return !row.rank_devices.empty(); };
  if (std::ranges::none_of(results.rows, is_known)) return results.device != "host";
  return std::ranges::any_of(results.rows, [](const SweepRow& row) {
    return std::ranges::any_of(row.rank_devices, [](const std::string& device) { return device != "host"; });
  });
}

/// Width of the columns of one backend.
std::size_t group_width(const SweepResults& results) {
  return kTimeWidth + 1 + kBandwidthWidth + kMarkWidth + (is_on_device(results) ? 1 + kDeviceWidth : 0);
}

// The part of a status that fits the cell; the full status is below the table.
std::string short_status(const std::string& status, std::size_t width) {
  std::string text = status;
  if (text.size() > width) text = text.substr(0, text.find_first_of(":("));
  if (text.size() > width) text.resize(width);
  return std::string(trim(text));
}

std::string device_text(const DeviceUse& device) {
  if (device.calls == 0) return "-";
  return (device.is_span ? "~" : "") + format_time_us(device.time_us);
}

std::string cell_text(const SweepResults& results, const SweepRow* row, const SweepRow* best,
                      const Terminal& terminal) {
  const std::size_t width = group_width(results);
  if (row == nullptr) return pad("-", width - kMarkWidth, Align::right) + " ";
  if (!row->ok()) return pad(short_status(row->status, width), width, Align::right);
  std::string text = pad(format_time_us(row->time_us_p50), kTimeWidth, Align::right) + " ";
  if (is_on_device(results)) text += pad(device_text(row->device), kDeviceWidth, Align::right) + " ";
  text += pad(three_digits(row->busbw_gbs), kBandwidthWidth, Align::right);
  return row == best ? terminal.bold(text + "*") : text + " ";
}

/// Devices of the ranks: " (sycl:0.0 sycl:0.1)", from the first job that reported them; all jobs place ranks alike.
std::string ranks_on(const SweepResults& results) {
  const auto known = std::ranges::find_if(results.rows, [](const SweepRow& row) { return !row.rank_devices.empty(); });
  if (!is_on_device(results) || known == results.rows.end()) return {};
  return concat(" (", join(known->rank_devices, " "), ")");
}

/// Exact if that fits the column, else rounded.
std::string size_text(std::uint64_t bytes) {
  const std::string exact = format_bytes(bytes);
  return exact.size() <= kSizeWidth ? exact : format_bytes_rounded(bytes);
}

std::string op_table(const SweepResults& results, OpKind op, std::span<const BackendSetup> backends,
                     const Terminal& terminal) {
  std::string names = std::string(2 + kSizeWidth, ' ');
  std::string titles = "  " + pad("size", kSizeWidth, Align::right);
  std::string rule = "  " + std::string(kSizeWidth, '-');
  const std::string device = is_on_device(results) ? pad("device", kDeviceWidth, Align::right) + " " : "";
  for (const BackendSetup& setup : backends) {
    names += "  " + pad(setup.backend + " ", group_width(results), Align::right);
    titles +=
        "  " + pad("time", kTimeWidth, Align::right) + " " + device + pad("GB/s", kBandwidthWidth, Align::right) + " ";
    rule += "  " + std::string(group_width(results), '-');
  }
  std::string text = terminal.bold(names) + "\n" + terminal.bold(titles) + "\n" + terminal.dim(rule) + "\n";
  for (const SweepCell& cell : distinct_cells(op, results.sizes, results.type, results.ranks)) {
    const SweepRow* best = fastest(results, cell);
    const CellShape shape(cell, results.type, results.ranks);
    text += "  " + pad(size_text(shape.message_bytes()), kSizeWidth, Align::right);
    for (const BackendSetup& setup : backends)
      text += "  " + cell_text(results, find_row(results, cell, setup.backend), best, terminal);
    text += "\n";
  }
  return text;
}

/// Explains the columns and the signs that occur in the tables.
std::string legend(const SweepResults& results) {
  std::string text =
      "time: median of the calls, each timed by its slowest rank; GB/s: bus bandwidth as nccl-tests defines it; *: "
      "fastest backend at this size.";
  if (is_on_device(results)) {
    text +=
        " device: busy time of the device during a call, on the rank where it was longest, measured in extra calls, "
        "which observation makes slower;";
    const bool any_span = std::ranges::any_of(results.rows, [](const SweepRow& row) { return row.device.is_span; });
    text +=
        any_span
            ? " ~: from the time the device's queue reached the library's operation until its end, including its wait "
              "for other ranks;"
            : "";
    text.back() = '.';
  }
  const bool any_result = std::ranges::any_of(results.rows, &SweepRow::ok);
  return text + (any_result ? " Every result was checked." : "");
}

std::string troubles(const SweepResults& results, std::size_t width) {
  std::string text;
  const auto add = [&](const std::string& line) {
    std::string indent = "  ";
    for (const std::string& piece : wrap(line, width - 6)) {
      text += indent + piece + "\n";
      indent = "      ";
    }
  };
  // A status that is the same at many sizes is printed once.
  std::vector<std::string> seen;
  for (const SweepRow& row : results.rows) {
    const std::string what = row.ok() ? row.note : row.status + (row.note.empty() ? "" : " (" + row.note + ")");
    const bool all_said = !row.ok() && row.note.empty() && short_status(row.status, group_width(results)) == row.status;
    if (what.empty() || all_said) continue;
    const std::string key = concat(row.backend, name(row.cell.op), what);
    if (std::ranges::find(seen, key) != seen.end()) continue;
    seen.push_back(key);
    const std::string where = row.ok() ? "" : concat(" at ", size_text(row.bytes));
    add(concat(row.backend, ", ", name(row.cell.op), where, ": ", what));
  }
  for (const UnusableBackend& backend : results.unusable) add(concat(backend.name, ": not measured: ", backend.reason));
  return text.empty() ? text : concat('\n', text);
}

}  // namespace

std::string to_table(const SweepResults& results, const Terminal& terminal) {
  const std::size_t width = terminal.columns();
  const std::size_t room = width > 2 + kSizeWidth ? width - 2 - kSizeWidth : 0;
  const std::size_t per_block = std::max<std::size_t>(room / (group_width(results) + 2), 1);
  std::string text = concat(results.machine, "\n", results.ranks, results.ranks == 1 ? " rank, " : " ranks, ",
                            name(results.type), ", ", results.device, " memory", ranks_on(results), '\n');
  for (const OpKind op : results.ops) {
    text += concat('\n', terminal.bold(concat(name(op), traits(op).reduces ? " (sum)" : "")), '\n');
    for (std::size_t first = 0; first < results.backends.size(); first += per_block) {
      const std::size_t count = std::min(per_block, results.backends.size() - first);
      text += first == 0 ? "" : "\n";
      text += op_table(results, op, std::span(results.backends).subspan(first, count), terminal);
    }
  }
  text += "\n";
  for (const std::string& line : wrap(legend(results), width - 2)) text += concat("  ", terminal.dim(line), '\n');
  return text + troubles(results, width);
}

}  // namespace tutti::tools

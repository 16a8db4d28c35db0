#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "tutti/tuning.hpp"

namespace tutti {

TypeClass type_class(OpKind kind, DataType type) noexcept {
  if (!traits(kind).reduces) return TypeClass::any;
  if (!is_floating(type)) return TypeClass::integer;
  return size_of(type) < 4 ? TypeClass::half : TypeClass::floating;
}

std::string_view name(TypeClass types) noexcept {
  switch (types) {
    case TypeClass::any:
      return "any";
    case TypeClass::floating:
      return "floating";
    case TypeClass::half:
      return "half";
    case TypeClass::integer:
      break;
  }
  return "integer";
}

double TunedBackend::expected_us(std::uint64_t bytes) const noexcept {
  if (times.empty()) return 0;
  const auto after = std::ranges::lower_bound(times, bytes, {}, &TunedTime::bytes);
  if (after != times.end() && after->bytes == bytes) return after->us;
  // Latency dominates below the points, bandwidth beyond them.
  if (after == times.begin()) return after->us;
  const TunedTime& before = *std::prev(after);
  if (after == times.end()) {
    return before.bytes == 0 ? before.us : before.us * static_cast<double>(bytes) / static_cast<double>(before.bytes);
  }
  const auto position = [](std::uint64_t size) { return std::log(static_cast<double>(size) + 1); };
  const double part = (position(bytes) - position(before.bytes)) / (position(after->bytes) - position(before.bytes));
  return before.us * std::pow(after->us / before.us, part);
}

const TuningRow* TuningTable::find(OpKind op, bool on_device, TypeClass types, int ranks,
                                   std::uint64_t bytes) const noexcept {
  const auto row = std::ranges::find_if(rows, [&](const TuningRow& one) {
    return one.op == op && one.on_device == on_device && one.types == types && one.ranks_from <= ranks &&
           ranks <= one.ranks_to && one.from <= bytes && bytes < one.to;
  });
  return row == rows.end() ? nullptr : &*row;
}

const TunedEngine* TuningTable::find_engine(std::string_view spec, int ranks) const noexcept {
  const auto engine =
      std::ranges::find_if(engines, [&](const TunedEngine& one) { return one.spec == spec && one.ranks == ranks; });
  return engine == engines.end() ? nullptr : &*engine;
}

TuningMachine this_tuning_machine() {
  TuningMachine machine{.cpu = "unknown CPU", .cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))};
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    if (key != "model name" && key != "Model") continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    if (begin == std::string::npos) continue;
    machine.cpu = line.substr(begin, line.find_last_not_of(" \t") + 1 - begin);
    break;
  }
  return machine;
}

std::string objection_to(const TuningTable& table, const TuningMachine& machine, std::string_view version) {
  if (table.tutti != version) {
    return "it was written by tutti " + table.tutti + ", this is " + std::string(version) + "; run tutti tune again";
  }
  if (table.machine.cpu != machine.cpu) {
    return "it was measured on " + table.machine.cpu + ", this machine has " + machine.cpu;
  }
  if (table.machine.cores != machine.cores) {
    return "it was measured on " + std::to_string(table.machine.cores) + " cores, this machine has " +
           std::to_string(machine.cores);
  }
  return {};
}

std::string_view version_number(std::string_view text) noexcept {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t begin = 0; begin < text.size(); ++begin) {
    if (!is_digit(text[begin])) continue;
    std::size_t end = begin;
    bool has_dot = false;
    while (end < text.size() &&
           (is_digit(text[end]) || (text[end] == '.' && end + 1 < text.size() && is_digit(text[end + 1])))) {
      has_dot = has_dot || text[end] == '.';
      ++end;
    }
    if (has_dot) return text.substr(begin, end - begin);
    begin = end;
  }
  return {};
}

}  // namespace tutti

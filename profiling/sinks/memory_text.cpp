#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "base/table.hpp"
#include "sinks/breakdown.hpp"
#include "sinks/split_keys.hpp"
#include "sinks/wording.hpp"

namespace tutti::profiling {
namespace {

using base::Align;

struct Owned {
  std::uint64_t allocations = 0, allocated = 0, releases = 0, released = 0, held = 0;
  std::uint64_t peak = 0;  ///< of the process with the highest
};

/// Memory by owner and place. Held bytes are summed per process before: one process's release is not another's.
std::string by_owner(const Profile& profile, const base::Style& style, std::size_t width) {
  const std::vector<std::string> devices = device_names(profile);
  std::map<std::pair<std::string, std::string>, Owned> owners;
  for (const MemoryRow& row : profile.memory) {
    const bool on_device = row_at(profile.devices, row.device) != nullptr;
    const std::string place = on_device ? devices[static_cast<std::size_t>(row.device)] : "host";
    Owned& owned = owners[{row.owner, place}];
    owned.allocations += row.allocations;
    owned.allocated += row.allocated_bytes;
    owned.releases += row.releases;
    owned.released += row.released_bytes;
    owned.held += row.held_bytes();
    owned.peak = std::max(owned.peak, row.peak_bytes);
  }
  if (owners.empty()) return {};
  std::vector<std::pair<std::pair<std::string, std::string>, Owned>> sorted(owners.begin(), owners.end());
  std::ranges::stable_sort(sorted, std::greater<>{}, [](const auto& entry) { return entry.second.allocated; });
  base::Table table({{"owner"},
                     {"place"},
                     {"allocations", Align::right},
                     {"allocated", Align::right},
                     {"releases", Align::right},
                     {"released", Align::right},
                     {"peak of a rank", Align::right},
                     {"still held", Align::right}});
  for (const auto& [key, owned] : sorted) {
    table.add({name_cell(key.first.empty() ? "-" : key.first), key.second, count_cell(owned.allocations),
               bytes_cell(owned.allocated), count_cell(owned.releases), bytes_cell(owned.released),
               bytes_cell(owned.peak), bytes_cell(owned.held)});
  }
  std::string text = heading(style, "Memory by owner") + table.render_parts(style, width, 2) + "\n";
  const auto killed = std::ranges::count_if(profile.processes, [](const ProcessRow& row) { return !row.ended; });
  if (killed > 0) {
    text += note("incomplete: " + std::to_string(killed) + " of " + std::to_string(profile.processes.size()) +
                     " processes had not ended in order; memory that they still held is no leak.",
                 width) +
            "\n";
  }
  return text;
}

std::string by_operation(const Profile& profile, const base::Style& style, std::size_t width) {
  struct Amount {
    std::uint64_t allocations = 0, allocated = 0, releases = 0, released = 0;
  };
  const SplitKeys keys(profile);
  std::map<std::tuple<SplitValue, SplitValue, std::string>, Amount> amounts;
  for (const TallyRow& row : profile.rows) {
    if (row.kind != Kind::allocation && row.kind != Kind::release) continue;
    if (row_at(profile.contexts, row.context) == nullptr) continue;
    Amount& amount = amounts[{keys.value(row, SplitBy::operation), keys.value(row, SplitBy::size), row.name}];
    const bool allocates = row.kind == Kind::allocation;
    (allocates ? amount.allocations : amount.releases) += row.statistics.calls;
    (allocates ? amount.allocated : amount.released) += row.statistics.total;
  }
  if (amounts.empty()) return {};
  base::Table table({{"op"},
                     {"size", Align::right},
                     {"owner"},
                     {"allocations", Align::right},
                     {"allocated", Align::right},
                     {"releases", Align::right},
                     {"released", Align::right}});
  for (const auto& [key, amount] : amounts) {
    table.add({std::get<0>(key).text, std::get<1>(key).text, name_cell(std::get<2>(key)),
               count_cell(amount.allocations), bytes_cell(amount.allocated), count_cell(amount.releases),
               bytes_cell(amount.released)});
  }
  return heading(style, "Memory by operation") + table.render_parts(style, width, 3) + "\n";
}

std::string resident(const Profile& profile, const base::Style& style, std::size_t width) {
  constexpr std::size_t kMostRows = 16;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < profile.processes.size(); ++i) {
    if (profile.processes[i].resident_peak != 0) order.push_back(i);
  }
  if (order.empty()) return {};
  const std::size_t left_out = order.size() - std::min(order.size(), kMostRows);
  if (left_out > 0) {
    std::ranges::stable_sort(order, std::greater<>{},
                             [&](std::size_t i) { return profile.processes[i].resident_peak; });
  }
  order.resize(order.size() - left_out);
  base::Table table({{"rank", Align::right}, {"host"}, {"resident peak", Align::right}, {"end"}});
  for (const std::size_t i : order) {
    const ProcessRow& process = profile.processes[i];
    table.add({rank_name(profile, static_cast<int>(i)), name_cell(process.host), bytes_cell(process.resident_peak),
               process.ended ? "" : "not seen"});
  }
  std::string text = heading(style, "Resident memory by rank") + table.render_parts(style, width, 2);
  if (left_out > 0) text += note(std::to_string(left_out) + " more processes had a lower peak.", width);
  return text + "\n";
}

}  // namespace

std::string memory_text(const Profile& profile, const TextOptions& text) {
  const base::Style style(text.colour);
  return by_owner(profile, style, text.width) + by_operation(profile, style, text.width) +
         resident(profile, style, text.width);
}

}  // namespace tutti::profiling

#include <algorithm>
#include <functional>

#include "base/table.hpp"
#include "sinks/breakdown.hpp"
#include "sinks/memory_sums.hpp"
#include "sinks/wording.hpp"

namespace tutti::profiling {
namespace {

using base::Align;

std::string by_owner(const Profile& profile, const base::Style& style, std::size_t width) {
  const std::vector<OwnedMemory> owners = memory_by_owner(profile);
  if (owners.empty()) return {};
  base::Table table({{"owner"},
                     {"place"},
                     {"allocations", Align::right},
                     {"allocated", Align::right},
                     {"releases", Align::right},
                     {"released", Align::right},
                     {"peak of a rank", Align::right},
                     {"still held", Align::right}});
  for (const OwnedMemory& owned : owners) {
    table.add({name_cell(owned.owner.empty() ? "-" : owned.owner), owned.place, count_cell(owned.allocations),
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
  const std::vector<OperationMemory> amounts = memory_by_operation(profile);
  if (amounts.empty()) return {};
  base::Table table({{"op"},
                     {"size", Align::right},
                     {"owner"},
                     {"allocations", Align::right},
                     {"allocated", Align::right},
                     {"releases", Align::right},
                     {"released", Align::right}});
  for (const OperationMemory& amount : amounts) {
    table.add({amount.operation.text, amount.size.text, name_cell(amount.owner), count_cell(amount.allocations),
               bytes_cell(amount.allocated), count_cell(amount.releases), bytes_cell(amount.released)});
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

#include "faults/campaign/verdict/summary.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <utility>

namespace tutti::test::campaign {
namespace {

struct Counts {
  std::size_t runs = 0;
  std::array<std::size_t, kVerdictCount> of{};
  double longest_s = -1;

  void add(const Entry& entry) {
    ++runs;
    ++of[static_cast<std::size_t>(entry.verdict)];
    longest_s = std::max(longest_s, entry.noticed_s);
  }
};

// In the table the good news come first.
constexpr std::array kColumns = {Verdict::ok,   Verdict::launcher, Verdict::wrong_result, Verdict::crash,
                                 Verdict::hang, Verdict::leak,     Verdict::wrong_code,   Verdict::wrong_rank,
                                 Verdict::late, Verdict::skipped};

std::string cell(std::string text, std::size_t width, bool right) {
  const std::string blanks(width > text.size() ? width - text.size() : 0, ' ');
  return (right ? blanks + text : text + blanks) + " | ";
}

std::string row(const std::string& backend, const std::string& fault, const Counts& counts) {
  std::string line =
      "| " + cell(backend, 12, false) + cell(fault, 12, false) + cell(std::to_string(counts.runs), 5, true);
  for (const Verdict verdict : kColumns) {
    line += cell(std::to_string(counts.of[static_cast<std::size_t>(verdict)]), name(verdict).size(), true);
  }
  std::array<char, 32> longest = {"-"};
  if (counts.longest_s >= 0) std::snprintf(longest.data(), longest.size(), "%.2f s", counts.longest_s);
  line += cell(longest.data(), 9, true);
  line.pop_back();
  return line + "\n";
}

}  // namespace

std::string summary_table(const std::vector<Entry>& entries) {
  std::map<std::pair<std::string, std::string>, Counts> rows;
  std::map<std::string, Counts> sums;
  for (const Entry& entry : entries) {
    rows[{entry.backend, entry.fault}].add(entry);
    sums[entry.backend].add(entry);
  }
  std::string table = "| " + cell("backend", 12, false) + cell("fault", 12, false) + cell("runs", 5, true);
  std::string rule = "|---|---|--:|";
  for (const Verdict verdict : kColumns) {
    table += cell(std::string(name(verdict)), 1, true);
    rule += "--:|";
  }
  table += cell("longest", 9, true);
  table.pop_back();
  table += "\n" + rule + "--:|\n";
  for (const auto& [key, counts] : rows) table += row(key.first, key.second, counts);
  for (const auto& [backend, counts] : sums) table += row(backend, "all", counts);
  return table;
}

bool has_bad(const std::vector<Entry>& entries) {
  return std::ranges::any_of(entries, [](const Entry& entry) { return is_bad(entry.verdict); });
}

std::string describe(const Entry& entry) {
  const std::string head = "run " + std::to_string(entry.run) + " (" + entry.backend + ", " + entry.fault +
                           "): " + std::string(name(entry.verdict));
  if (entry.reason.empty()) return head;
  return head + ": " + entry.reason + "; again with --seed " + std::to_string(entry.seed) + " --only " +
         std::to_string(entry.run) + " --backend " + entry.backend + " --faults " + entry.fault;
}

}  // namespace tutti::test::campaign

#include "settings/common_settings.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "settings/settings.hpp"
#include "tutti/error.hpp"

namespace tutti {
namespace {

/// The value in a form that is equal for equal values: "2min" and "120s" are the same.
std::string canonical(const Config& config, const Setting& setting) {
  switch (setting.kind) {
    case SettingKind::flag:
      return config.flag(setting.name) ? "1" : "0";
    case SettingKind::integer:
      return std::to_string(config.integer(setting.name));
    case SettingKind::bytes:
      return std::to_string(config.bytes(setting.name));
    case SettingKind::duration: {
      // An empty value leaves the duration to the backend; 0 is none.
      const auto duration = config.duration(setting.name);
      if (config.text(setting.name).empty()) return "";
      return std::to_string(duration ? duration->count() : 0) + "ns";
    }
    case SettingKind::choice:
      if (const auto flag = parse_flag(config.text(setting.name))) return *flag ? "1" : "0";
      break;
    case SettingKind::text:
      break;
  }
  std::string text = config.text(setting.name);
  std::ranges::replace_if(
      text, [](char c) { return c == '\t' || c == '\n'; }, ' ');
  return text;
}

/// A setting as a rank has it.
struct Entry {
  std::string canonical;
  std::string shown;  ///< the value as the user wrote it and its source

  [[nodiscard]] std::string text() const { return canonical + '\t' + shown; }
  [[nodiscard]] static Entry of(const std::string& text) {
    const std::size_t end = std::min(text.find('\t'), text.size());
    return {text.substr(0, end), text.substr(std::min(end + 1, text.size()))};
  }
};

Entry entry_of(const Config& config, const Setting& setting) {
  const std::string value = config.shown(setting.name);
  return {canonical(config, setting),
          (value.empty() ? "not set" : printable(value)) + " (" + std::string(config.source(setting.name)) + ")"};
}

std::vector<Entry> entries_in(const std::string& text) {
  std::vector<Entry> entries;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) entries.push_back(Entry::of(line));
  return entries;
}

/// Names the setting, the rank and the two values; empty if the entries of a rank equal those of rank 0.
std::string difference(std::span<const Setting* const> common, const std::vector<Entry>& first,
                       const std::vector<Entry>& other, std::size_t rank) {
  for (std::size_t i = 0; i < common.size(); ++i) {
    if (i >= first.size() || i >= other.size()) return "the ranks have different versions of tutti or of a backend";
    if (first[i].canonical == other[i].canonical) continue;
    return std::string(common[i]->name) + " must be the same on all ranks: it is " + first[i].shown +
           " on rank 0 and " + other[i].shown + " on rank " + std::to_string(rank);
  }
  return {};
}

}  // namespace

void require_common_settings(const Rendezvous& rendezvous, const Config& config, std::span<const Setting> rows,
                             std::string_view scope) {
  std::vector<const Setting*> common;
  std::string mine;
  for (const Setting& setting : rows) {
    if (!setting.common) continue;
    common.push_back(&setting);
    mine += entry_of(config, setting).text() + '\n';
  }
  if (common.empty()) return;
  const std::string name = "settings." + std::string(scope);
  const std::vector<std::string> all = rendezvous.allgather(name, mine);
  if (std::ranges::all_of(all, [&](const std::string& one) { return one == all.front(); })) return;
  const std::vector<Entry> first = entries_in(all.front());
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const std::string problem = difference(common, first, entries_in(all[rank]), rank);
    if (problem.empty()) continue;
    rendezvous.barrier(name);  // rank 0 may serve the store and must not leave before all have read the difference
    throw Error(ErrorCode::config, problem);
  }
}

}  // namespace tutti

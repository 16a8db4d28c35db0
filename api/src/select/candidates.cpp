#include "select/candidates.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <tuple>

#include "select/registry.hpp"

namespace tutti {
namespace {

/// Words of a span, for messages.
std::string listed(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

/// Why a module cannot take the words after its name; empty if it can.
std::string objection_to_rest(const spi::BackendModule& module, const std::string& rest) {
  if (rest.empty() || module.nests || std::ranges::find(module.products, rest) != module.products.end()) return {};
  if (module.products.empty()) return "nothing may follow '" + std::string(module.name) + ":'";
  return "there is no '" + rest + "' of it; accepted: " + listed(module.products);
}

Candidate probe_entry(const RegisteredModule& entry, const spi::ProbeContext& context) {
  Candidate candidate{entry.module, {}};
  if (entry.module == nullptr) {
    candidate.probe.reason = entry.location + " " + entry.rejected;
  } else if (candidate.probe.reason = objection_to_rest(*entry.module, std::string(context.rest));
             candidate.probe.reason.empty()) {
    candidate.probe = probe_module(*entry.module, context);
  }
  return candidate;
}

/// Whether `a` serves a group better than `b`. A module that knows the product is better than one that does not.
bool is_better(const Candidate& a, const Candidate& b, const std::string& rest) {
  const auto rank = [&](const Candidate& candidate) {
    const bool knows = candidate.module != nullptr && objection_to_rest(*candidate.module, rest).empty();
    return std::tuple(candidate.probe.usable, knows, candidate.probe.preference);
  };
  return rank(a) > rank(b);
}

}  // namespace

Candidates probe_all(const spi::Peers* peers, const Config& config, const BackendSpec& wanted) {
  const bool is_auto = wanted.name == kAuto;
  Candidates best;
  for (const RegisteredModule* entry : Registry::instance().modules(config)) {
    if (is_auto ? entry->module != nullptr && entry->module->nests : entry->name != wanted.name) continue;
    const Candidate candidate =
        probe_entry(*entry, {.config = config, .peers = peers, .named = !is_auto, .rest = wanted.rest});
    const auto [slot, added] = best.try_emplace(entry->name, candidate);
    if (!added && is_better(candidate, slot->second, wanted.rest)) slot->second = candidate;
  }
  return best;
}

std::string known_names(const Config& config) {
  std::set<std::string> names;
  for (const RegisteredModule* entry : Registry::instance().modules(config)) names.insert(entry->name);
  std::string text;
  for (const std::string& name : names) text += ", " + name;
  return text;
}

}  // namespace tutti

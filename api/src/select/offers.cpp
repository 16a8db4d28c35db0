#include "select/offers.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <span>
#include <sstream>
#include <string_view>

#include "store/wire/authentication.hpp"

namespace tutti {
namespace {

/// Pins and tables are for `auto` alone; TUTTI_REPRODUCIBLE keeps to one backend.
OwnTuning own_tuning(const Config& config, const BackendSpec& spec, bool tuned) {
  if (!tuned || spec.name != kAuto || config.flag("TUTTI_REPRODUCIBLE")) return {};
  OwnTuning own{.loaded = load_tuning(config), .pins = parse_pins(config.text("TUTTI_PIN"))};
  if (own.loaded.table) {
    const Digest digest = sha256(to_text(*own.loaded.table));
    own.digest = hexadecimal(std::span(digest).first(16));
  }
  return own;
}

/// The specs in pins and in the table's rows for so many ranks.
std::set<std::string> named_specs(const OwnTuning& tuning, int ranks) {
  std::set<std::string> specs;
  for (const Pin& pin : tuning.pins) specs.insert(pin.spec);
  if (!tuning.loaded.table) return specs;
  for (const TuningRow& row : tuning.loaded.table->rows) {
    if (ranks < row.ranks_from || ranks > row.ranks_to) continue;
    for (const TunedBackend& backend : row.backends) specs.insert(backend.spec);
  }
  return specs;
}

// The text of offers: the spec that the rank asks for, the digest of its tuning table, then a line per backend,
// "[@]name variant product version usable preference reason"; @ marks specs of pins and table.
void encode_to(std::ostream& text, const Candidates& candidates, std::string_view mark) {
  for (const auto& [name, candidate] : candidates) {
    std::string reason = candidate.probe.reason;
    std::ranges::replace(reason, '\n', ' ');
    std::string version = candidate.probe.version;
    std::ranges::replace_if(
        version, [](char c) { return c == '\t' || c == '\n'; }, ' ');
    const std::string_view variant = candidate.module != nullptr ? candidate.module->variant : std::string_view();
    text << mark << name << '\t' << variant << '\t' << candidate.probe.product << '\t' << version << '\t'
         << (candidate.probe.usable ? 1 : 0) << '\t' << candidate.probe.preference << '\t' << reason << '\n';
  }
}

}  // namespace

OwnOffers find_offers(const spi::Peers& peers, const Config& config, const BackendSpec& spec, bool tuned) {
  OwnOffers own{spec.text(), own_tuning(config, spec, tuned), probe_all(&peers, config, spec), {}};
  for (const std::string& name : named_specs(own.tuning, peers.size)) {
    const auto found = probe_all(&peers, config, parse_backend_spec(name));
    if (!found.empty()) own.named.emplace(name, found.begin()->second);
  }
  return own;
}

std::string encode(const OwnOffers& own) {
  std::ostringstream text;
  text << own.wanted << '\n' << own.tuning.digest << '\n';
  encode_to(text, own.candidates, "");
  encode_to(text, own.named, "@");
  return text.str();
}

RankOffers decode(const std::string& text) {
  RankOffers result;
  std::istringstream lines(text);
  std::getline(lines, result.wanted);
  std::getline(lines, result.tuning);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    std::string usable;
    std::string preference;
    Offer offer;
    std::getline(fields, name, '\t');
    std::getline(fields, offer.variant, '\t');
    std::getline(fields, offer.product, '\t');
    std::getline(fields, offer.version, '\t');
    std::getline(fields, usable, '\t');
    std::getline(fields, preference, '\t');
    std::getline(fields, offer.reason);
    offer.usable = usable == "1";
    offer.preference = std::atoi(preference.c_str());
    const bool is_named = name.starts_with('@');
    (is_named ? result.named : result.offers).emplace(name.substr(is_named ? 1 : 0), offer);
  }
  return result;
}

std::string objection(const std::string& name, const std::vector<RankOffers>& ranks,
                      std::map<std::string, Offer> RankOffers::*kind) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto offer = (ranks[rank].*kind).find(name);
    const std::string who = "rank " + std::to_string(rank);
    if (offer == (ranks[rank].*kind).end()) return who + " has no such backend";
    if (!offer->second.usable) return who + ": " + offer->second.reason;
    const Offer& first = (ranks[0].*kind).at(name);
    if (offer->second.variant != first.variant || offer->second.product != first.product) {
      return who + " would use " + offer->second.library() + ", rank 0 " + first.library();
    }
  }
  return {};
}

}  // namespace tutti

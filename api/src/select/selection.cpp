#include "select/selection.hpp"

#include <algorithm>
#include <vector>

#include "select/composite/auto_backend.hpp"
#include "select/offers.hpp"
#include "select/ownership.hpp"
#include "settings/common_settings.hpp"
#include "tutti/error.hpp"

namespace tutti {

namespace {

std::string choose_automatically(const std::vector<RankOffers>& ranks) {
  std::string chosen;
  std::string objections;
  int preference = 0;
  for (const auto& [name, offer] : ranks[0].offers) {
    if (std::string why = objection(name, ranks); !why.empty()) {
      objections += "; " + name + ": " + why;
    } else if (chosen.empty() || offer.preference > preference) {
      chosen = name;
      preference = offer.preference;
    }
  }
  if (chosen.empty()) {
    throw Error(ErrorCode::backend_unavailable,
                "no backend is usable on all " + std::to_string(ranks.size()) + " ranks" + objections);
  }
  return chosen;
}

/// The name of the backend that all ranks take. Decided from facts that all know, so all of them throw or none.
std::string choose(const std::vector<RankOffers>& ranks, const BackendSpec& spec, const Config& config) {
  const std::string& wanted = ranks[0].wanted;
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    if (ranks[rank].wanted == wanted) continue;
    throw Error(ErrorCode::config, "the ranks ask for different backends: rank 0 for " + wanted + ", rank " +
                                       std::to_string(rank) + " for " + ranks[rank].wanted);
  }
  if (spec.name == kAuto) return choose_automatically(ranks);
  if (!ranks[0].offers.contains(spec.name)) {
    throw Error(ErrorCode::backend_unavailable,
                "there is no backend '" + spec.name + "'; there are: auto" + known_names(config));
  }
  if (const std::string why = objection(spec.name, ranks); !why.empty()) {
    throw Error(ErrorCode::backend_unavailable, "backend " + wanted + " is not usable: " + why, spec.name);
  }
  return spec.name;
}

/// Empty where all ranks have the same table, else which rank has none. Throws Error{config} if two ranks have
/// different tables: they would route an operation to different backends.
std::string rank_without_table(const std::vector<RankOffers>& ranks) {
  std::size_t first = ranks.size();
  std::string without;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].tuning.empty()) {
      if (without.empty()) without = "rank " + std::to_string(rank);
    } else if (first == ranks.size()) {
      first = rank;
    } else if (ranks[rank].tuning != ranks[first].tuning) {
      throw Error(ErrorCode::config, "the ranks have different tuning tables: that of rank " + std::to_string(rank) +
                                         " is not that of rank " + std::to_string(first) +
                                         "; copy one file to all hosts, or set TUTTI_TUNING=none");
    }
  }
  return without;
}

PlanCandidate plan_candidate(const Candidate& mine, const Offer& offer, std::string spec, std::string objection,
                             bool strict) {
  if (mine.module != nullptr && !mine.module->nests) spec = mine.module->name;
  if (!offer.product.empty()) spec += ":" + offer.product;
  PlanCandidate candidate{.spec = std::move(spec),
                          .module = mine.module,
                          .capabilities = mine.probe.capabilities,
                          .version = offer.version,
                          .objection = std::move(objection)};
  if (strict) candidate.capabilities.require_own();
  return candidate;
}

/// The backends among which a plan chooses: the base, then those that pins and table name.
std::vector<PlanCandidate> plan_candidates(const OwnOffers& own, const std::vector<RankOffers>& ranks,
                                           const std::string& base, bool strict) {
  std::vector<PlanCandidate> all = {
      plan_candidate(own.candidates.at(base), ranks[0].offers.at(base), base, {}, strict)};
  for (const auto& [spec, mine] : own.named) {
    if (all.front().is_called(spec) || !ranks[0].named.contains(spec)) continue;
    all.push_back(
        plan_candidate(mine, ranks[0].named.at(spec), spec, objection(spec, ranks, &RankOffers::named), strict));
  }
  return all;
}

std::string rule_reason(const spi::Probe& probe) {
  std::string reason = "of the backends that are usable on all ranks it has the highest preference";
  if (!probe.reason.empty()) reason += " (" + probe.reason + ")";
  return reason;
}

/// Adds the plan of `auto` to a selection, and how pins and table went into it.
void add_plan(Selection& selection, OwnOffers& own, const std::vector<RankOffers>& ranks, const std::string& base,
              const Config& config) {
  LoadedTuning& loaded = own.tuning.loaded;
  const std::string without = rank_without_table(ranks);
  if (!without.empty() && loaded.table) {
    loaded.notice = "the tuning file " + loaded.path + " is not used: " + without + " has none";
    loaded.table.reset();
  }
  if (!loaded.notice.empty()) selection.reason += "; " + loaded.notice;
  if (!loaded.table && own.tuning.pins.empty()) return;
  const bool strict = config.flag("TUTTI_STRICT");
  std::vector<PlanCandidate> candidates = plan_candidates(own, ranks, base, strict);
  selection.plan = std::make_shared<const TuningPlan>(std::move(loaded), std::move(own.tuning.pins),
                                                      std::move(candidates), static_cast<int>(ranks.size()), strict);
}

/// The selection of a group whose ranks have made these offers.
Selection decide(OwnOffers& own, const std::vector<RankOffers>& ranks, const BackendSpec& spec, const Config& config) {
  const std::string chosen = choose(ranks, spec, config);
  const Candidate& best = own.candidates.at(chosen);
  Selection selection{.module = best.module,
                      .rest = spec.rest,
                      .product = best.probe.product,
                      .reason = {},
                      .capabilities = best.probe.capabilities};
  if (spec.name != kAuto) return selection;
  selection.reason = rule_reason(best.probe);
  add_plan(selection, own, ranks, chosen, config);
  return selection;
}

/// Throws on all ranks or on none, since all have the same pins.
void check_pins(const Rendezvous& rendezvous, const Config& config) {
  try {
    (void)parse_pins(config.text("TUTTI_PIN"));
  } catch (const Error&) {
    rendezvous.barrier("pins");  // rank 0 may serve the store, which others still read
    throw;
  }
}

}  // namespace

spi::Probe probe_spec(const BackendSpec& spec, const spi::Peers* peers, const Config& config) {
  const auto candidates = probe_all(peers, config, spec);
  if (candidates.empty()) {
    spi::Probe none;
    none.reason = "there is no backend '" + spec.name + "'; there are: auto" + known_names(config);
    return none;
  }
  const auto preference = [](const auto& row) {
    return std::pair(row.second.probe.usable, row.second.probe.preference);
  };
  return std::ranges::max_element(candidates, {}, preference)->second.probe;
}

Selection select(const Rendezvous& rendezvous, const spi::Peers& peers, const Config& config, const BackendSpec& spec,
                 bool tuned) {
  if (tuned) check_pins(rendezvous, config);
  OwnOffers own = find_offers(peers, config, spec, tuned);
  std::vector<RankOffers> ranks;
  for (const std::string& text : rendezvous.allgather("offers", encode(own))) ranks.push_back(decode(text));
  try {
    return decide(own, ranks, spec, config);
  } catch (const Error&) {
    rendezvous.barrier("offers");  // rank 0 may serve the store: all ranks must have read the offers
    throw;
  }
}

Selection select_for(const spi::Peers& peers, const Config& config) {
  const BackendSpec spec{.name = std::string(kAuto)};
  OwnOffers own = find_offers(peers, config, spec, true);
  const std::vector<RankOffers> ranks(static_cast<std::size_t>(peers.size), decode(encode(own)));
  return decide(own, ranks, spec, config);
}

std::unique_ptr<spi::BackendCommunicator> create(const Selection& selection, const spi::CreateContext& context) {
  if (selection.plan != nullptr && selection.plan->routes()) {
    std::unique_ptr<spi::BackendCommunicator> whole = create_auto(selection.plan, context);
    spi::Ownership::take(*whole, kAutoModule, {});
    return whole;  // the requirements of the settings are those of its leaves
  }
  spi::CreateContext inner = context;
  inner.rest = selection.rest;
  inner.parent = base_of(context.parent);
  // A split communicator has the settings of its parent.
  if (context.parent == nullptr) {
    require_common_settings(context.rendezvous, context.config, selection.module->settings, selection.module->name);
  }
  std::unique_ptr<spi::BackendCommunicator> communicator = selection.module->create(inner);
  if (context.parent != nullptr) {
    spi::Ownership::appear_as(*communicator, *inner.parent);
  } else {
    spi::Ownership::take(*communicator, *selection.module, selection.product);
  }
  if (context.config.flag("TUTTI_REPRODUCIBLE")) communicator->require_rank_order();
  if (context.config.flag("TUTTI_STRICT")) communicator->require_own();
  return communicator;
}

}  // namespace tutti

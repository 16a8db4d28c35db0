#include "select/selection.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <tuple>
#include <vector>

#include "select/auto_backend.hpp"
#include "select/ownership.hpp"
#include "select/registry.hpp"
#include "settings/common_settings.hpp"
#include "store/authentication.hpp"
#include "tutti/error.hpp"
#include "tutti/placement.hpp"

namespace tutti {

namespace {

constexpr std::string_view kAuto = "auto";

struct Candidate {
  const spi::BackendModule* module = nullptr;
  spi::Probe probe;
};

/// Equal for processes that can share memory: the boot of the kernel and the host name (which containers that act as
/// hosts of their own have set differently).
std::string host_key() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return std::string(host.data()) + "/" + boot;
}

/// Tells this process from others with the same number in another pid namespace.
const std::string& process_token() {
  static const std::string token = make_secret().substr(0, 16);
  return token;
}

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

/// Per backend name the variant that serves this group best; a backend that cannot is there with its reason. For `auto`
/// all backends that stand on no other one, else those called as the spec says.
std::map<std::string, Candidate> probe_all(const spi::Peers* peers, const Config& config, const BackendSpec& wanted) {
  const bool is_auto = wanted.name == kAuto;
  std::map<std::string, Candidate> best;
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

/// What this rank would route operations by.
struct OwnTuning {
  LoadedTuning loaded;
  std::string digest = {};  ///< of the table; empty without one
  std::vector<Pin> pins = {};
};

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

/// What a rank finds: the backends that the spec or `auto` may mean, and those that pins and its table name.
struct OwnOffers {
  std::string wanted;
  OwnTuning tuning;
  std::map<std::string, Candidate> candidates;  ///< by name
  std::map<std::string, Candidate> named;       ///< by spec
};

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

/// Some backends that are slower on one host are looked for only if they are named.
OwnOffers find_offers(const spi::Peers& peers, const Config& config, const BackendSpec& spec, bool tuned) {
  OwnOffers own{spec.text(), own_tuning(config, spec, tuned), probe_all(&peers, config, spec), {}};
  for (const std::string& name : named_specs(own.tuning, peers.size)) {
    const auto found = probe_all(&peers, config, parse_backend_spec(name));
    if (!found.empty()) own.named.emplace(name, found.begin()->second);
  }
  return own;
}

using Candidates = std::map<std::string, Candidate>;

// Text of the offers that a rank sends to the others: the spec it asks for, the digest of its tuning table, then a line
// per backend, "[@]name variant product version usable preference reason"; @ marks specs of pins and table.
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

std::string encode(const OwnOffers& own) {
  std::ostringstream text;
  text << own.wanted << '\n' << own.tuning.digest << '\n';
  encode_to(text, own.candidates, "");
  encode_to(text, own.named, "@");
  return text.str();
}

struct Offer {
  std::string variant;
  std::string product;
  std::string version;
  bool usable = false;
  int preference = 0;
  std::string reason;

  [[nodiscard]] std::string library() const { return product.empty() ? variant : product; }
};

struct RankOffers {
  std::string wanted;
  std::string tuning;
  std::map<std::string, Offer> offers;
  std::map<std::string, Offer> named;  ///< by spec: those of pins and table
};

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

/// Empty when every rank can use `name` with the same library, else the rank that cannot and the reason.
std::string objection(const std::string& name, const std::vector<RankOffers>& ranks,
                      std::map<std::string, Offer> RankOffers::*kind = &RankOffers::offers) {
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

spi::Peers meet(const Rendezvous& rendezvous, const std::string& card, std::vector<std::string>& cards) {
  spi::Peers peers;
  peers.rank = rendezvous.rank();
  peers.size = rendezvous.size();
  // "NODE PID TOKEN HOST", on a line of its own the card. A forked child has its parent's token but another number.
  // Threads of a process may be bound to different nodes.
  const std::string mine = std::to_string(getpid()) + " " + process_token() + " " + host_key();
  auto hellos = rendezvous.allgather("hello", std::to_string(current_numa_node()) + " " + mine + "\n" + card);
  cards.clear();
  for (std::string& hello : hellos) {
    const std::size_t end = std::min(hello.find('\n'), hello.size());
    cards.push_back(hello.substr(std::min(end + 1, hello.size())));
    hello.resize(end);
  }
  const auto process_of = [](const std::string& hello) { return hello.substr(hello.find(' ') + 1); };
  for (const std::string& hello : hellos) {
    std::istringstream fields(hello);
    int node = -1;
    std::int64_t pid = 0;
    std::string token;
    std::string host;
    fields >> node >> pid >> token >> host;
    peers.pids.push_back(pid == getpid() && process_of(hello) != mine ? 0 : pid);
    peers.hosts.push_back(host);
    peers.numa_nodes.push_back(node);
    peers.same_host = peers.same_host && peers.hosts.back() == peers.hosts.front();
    peers.same_process = peers.same_process && process_of(hello) == process_of(hellos.front());
  }
  return peers;
}

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

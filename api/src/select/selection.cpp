#include "select/selection.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "select/registry.hpp"
#include "tutti/error.hpp"
#include "tutti/placement.hpp"

namespace tutti {

namespace {

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

/// Per backend name the variant that wants to serve this group most; a backend that cannot is there with its reason.
std::map<std::string, Candidate> probe_all(const spi::Peers& peers, const Config& config) {
  std::map<std::string, Candidate> best;
  for (const RegisteredModule* entry : Registry::instance().modules(config)) {
    Candidate candidate{entry->module, {}};
    if (entry->module == nullptr) {
      candidate.probe.reason = entry->location + " " + entry->rejected;
    } else {
      candidate.probe = probe_module(*entry->module, spi::ProbeContext{config, &peers});
    }
    auto [slot, added] = best.try_emplace(entry->name, candidate);
    if (added) continue;
    const spi::Probe& known = slot->second.probe;
    if (std::pair(candidate.probe.usable, candidate.probe.preference) > std::pair(known.usable, known.preference)) {
      slot->second = candidate;
    }
  }
  return best;
}

// Text of the offers that a rank sends to the others: a line per backend, "name variant usable preference reason".
std::string encode(const std::map<std::string, Candidate>& candidates, const std::string& wanted) {
  std::ostringstream text;
  text << wanted << '\n';
  for (const auto& [name, candidate] : candidates) {
    std::string reason = candidate.probe.reason;
    std::ranges::replace(reason, '\n', ' ');
    const std::string_view variant = candidate.module != nullptr ? candidate.module->variant : std::string_view();
    text << name << '\t' << variant << '\t' << (candidate.probe.usable ? 1 : 0) << '\t' << candidate.probe.preference
         << '\t' << reason << '\n';
  }
  return text.str();
}

struct Offer {
  std::string variant;
  bool usable = false;
  int preference = 0;
  std::string reason;
};

struct RankOffers {
  std::string wanted;
  std::map<std::string, Offer> offers;
};

RankOffers decode(const std::string& text) {
  RankOffers result;
  std::istringstream lines(text);
  std::getline(lines, result.wanted);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    std::string usable;
    std::string preference;
    Offer offer;
    std::getline(fields, name, '\t');
    std::getline(fields, offer.variant, '\t');
    std::getline(fields, usable, '\t');
    std::getline(fields, preference, '\t');
    std::getline(fields, offer.reason);
    offer.usable = usable == "1";
    offer.preference = std::atoi(preference.c_str());
    result.offers.emplace(name, offer);
  }
  return result;
}

/// Empty when every rank can use `name` in the same variant, else who cannot and why.
std::string objection(const std::string& name, const std::vector<RankOffers>& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto offer = ranks[rank].offers.find(name);
    const std::string who = "rank " + std::to_string(rank);
    if (offer == ranks[rank].offers.end()) return who + " has no such backend";
    if (!offer->second.usable) return who + ": " + offer->second.reason;
    if (offer->second.variant != ranks[0].offers.at(name).variant) {
      return who + " would use variant " + offer->second.variant + ", rank 0 " + ranks[0].offers.at(name).variant;
    }
  }
  return {};
}

std::string names_of(const std::map<std::string, Offer>& offers) {
  std::string text;
  for (const auto& [name, offer] : offers) text += (text.empty() ? "" : ", ") + name;
  return text;
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

/// The name of the backend that all ranks take. Decided from what all know, so all of them throw or none.
std::string choose(const std::vector<RankOffers>& ranks) {
  const std::string& wanted = ranks[0].wanted;
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    if (ranks[rank].wanted == wanted) continue;
    throw Error(ErrorCode::config, "the ranks ask for different backends: rank 0 for " + wanted + ", rank " +
                                       std::to_string(rank) + " for " + ranks[rank].wanted);
  }
  if (wanted == "auto") return choose_automatically(ranks);
  if (!ranks[0].offers.contains(wanted)) {
    throw Error(ErrorCode::backend_unavailable,
                "there is no backend '" + wanted + "'; there are: auto, " + names_of(ranks[0].offers));
  }
  if (const std::string why = objection(wanted, ranks); !why.empty()) {
    throw Error(ErrorCode::backend_unavailable, "backend " + wanted + " is not usable: " + why, wanted);
  }
  return wanted;
}

}  // namespace

spi::Peers meet(const Rendezvous& rendezvous) {
  spi::Peers peers;
  peers.rank = rendezvous.rank();
  peers.size = rendezvous.size();
  // "NODE PID TOKEN HOST". A forked child has its parent's token but another number. Threads of a process may be bound
  // to different nodes.
  const std::string mine = std::to_string(getpid()) + " " + process_token() + " " + host_key();
  const auto hellos = rendezvous.allgather("hello", std::to_string(current_numa_node()) + " " + mine);
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

Selection select(const Rendezvous& rendezvous, const spi::Peers& peers, const Config& config,
                 const spi::ForeignHandle* foreign) {
  const std::string& setting = config.text("TUTTI_BACKEND");
  // A communicator handed over names its backend, unless the user asks for another one over the same ranks.
  const std::string wanted = foreign != nullptr && setting == "auto" ? std::string(foreign->backend) : setting;
  const auto candidates = probe_all(peers, config);

  std::vector<RankOffers> ranks;
  for (const std::string& text : rendezvous.allgather("offers", encode(candidates, wanted))) {
    ranks.push_back(decode(text));
  }
  std::string chosen;
  try {
    chosen = choose(ranks);
  } catch (const Error&) {
    rendezvous.barrier("offers");  // rank 0 may serve the store: all are to read what is wrong
    throw;
  }

  Selection selection;
  selection.module = candidates.at(chosen).module;
  if (wanted == "auto") {
    selection.reason = "of the backends that are usable on all ranks it has the highest preference";
    if (const std::string& found = candidates.at(chosen).probe.reason; !found.empty())
      selection.reason += " (" + found + ")";
  } else {
    selection.reason = setting == wanted
                           ? "TUTTI_BACKEND (" + std::string(config.source("TUTTI_BACKEND")) + ") names it"
                           : "the application handed over a communicator of it";
  }
  return selection;
}

}  // namespace tutti

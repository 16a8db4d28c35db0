#include "creation/ccl_transport.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "tutti/error.hpp"

namespace tutti::ccl {
namespace {

constexpr const char* kDecided = "decided";
constexpr const char* kUndecided = "undecided";
constexpr const char* kNoJob = "-";
constexpr const char* kConfined = "confined";
constexpr const char* kReachable = "reachable";

std::string_view name(Transport transport) { return transport == Transport::mpi ? "mpi" : "ofi"; }

int number(const std::optional<std::string>& text) {
  int value = -1;
  if (text) std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

/// Whether the offers are those of all ranks of one MPI job.
bool is_whole_job(std::span<const TransportOffer> offers) {
  std::set<int> ranks;
  for (const TransportOffer& offer : offers) {
    if (offer.transport != Transport::mpi || offer.job != offers.front().job) return false;
    if (!std::cmp_equal(offers.size(), offer.size)) return false;
    ranks.insert(offer.rank);
  }
  return ranks.size() == offers.size();
}

}  // namespace

std::string TransportOffer::text() const {
  std::ostringstream text;
  text << (is_decided ? kDecided : kUndecided) << ' ' << name(transport) << ' ' << (job.empty() ? kNoJob : job) << ' '
       << rank << ' ' << size << ' ' << (is_confined ? kConfined : kReachable);
  return text.str();
}

TransportOffer TransportOffer::of(const std::string& text) {
  std::istringstream fields(text);
  std::string decided;
  std::string transport;
  std::string reach;
  TransportOffer offer;
  if (!(fields >> decided >> transport >> offer.job >> offer.rank >> offer.size >> reach)) return {};
  offer.is_confined = reach == kConfined;
  offer.is_decided = decided == kDecided;
  if (transport == name(Transport::mpi)) offer.transport = Transport::mpi;
  if (offer.job == kNoJob) offer.job.clear();
  return offer;
}

TransportOffer offer_of_process(const std::string& mpi_library, const EnvironmentLookup& environment) {
  if (const auto chosen = environment("CCL_ATL_TRANSPORT")) {
    return {.is_decided = true, .transport = *chosen == name(Transport::mpi) ? Transport::mpi : Transport::ofi};
  }
  if (mpi_library.empty()) return {};
  return {.transport = Transport::mpi,
          .job = environment("I_MPI_HYDRA_UUID").value_or(""),
          .rank = number(environment("PMI_RANK")),
          .size = number(environment("PMI_SIZE"))};
}

Transport choose_transport(std::span<const TransportOffer> offers, bool same_host) {
  const auto confined = std::ranges::find_if(offers, &TransportOffer::is_confined);
  if (!same_host && confined != offers.end()) {
    throw Error(ErrorCode::invalid_usage,
                "rank " + std::to_string(confined - offers.begin()) +
                    " started oneCCL for ranks of one host, with a key-value store that other hosts cannot reach; "
                    "create the communicator of all ranks first, or set CCL_KVS_IFACE to the network interface to use",
                "ccl");
  }
  const auto has_decided = [](Transport transport) {
    return [transport](const TransportOffer& offer) { return offer.is_decided && offer.transport == transport; };
  };
  const auto by_mpi = std::ranges::find_if(offers, has_decided(Transport::mpi));
  if (by_mpi != offers.end()) {
    const auto other = std::ranges::find_if_not(offers, has_decided(Transport::mpi));
    if (other == offers.end()) return Transport::mpi;
    throw Error(ErrorCode::invalid_usage,
                "rank " + std::to_string(by_mpi - offers.begin()) + " uses oneCCL over MPI, but rank " +
                    std::to_string(other - offers.begin()) +
                    " does not; create the communicator of all ranks first, or set CCL_ATL_TRANSPORT to the same "
                    "value on all ranks",
                "ccl");
  }
  if (std::ranges::any_of(offers, has_decided(Transport::ofi))) return Transport::ofi;
  return is_whole_job(offers) ? Transport::mpi : Transport::ofi;
}

Transport agree_on_transport(const Rendezvous& rendezvous, const TransportOffer& mine, bool same_host) {
  std::vector<TransportOffer> offers;
  for (const std::string& text : rendezvous.allgather("ccl.transport", mine.text())) {
    offers.push_back(TransportOffer::of(text));
  }
  try {
    return choose_transport(offers, same_host);
  } catch (const Error&) {
    rendezvous.barrier("ccl.transport");  // rank 0 may serve the store: all ranks must have read the offers
    throw;
  }
}

}  // namespace tutti::ccl

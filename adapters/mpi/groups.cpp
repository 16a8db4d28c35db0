#include "groups.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "base/mpi/handle_table.hpp"
#include "base/mpi/pmpi.hpp"
#include "report.hpp"
#include "tutti/error.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/spi/host_number.hpp"

namespace tutti::adapters::mpi {
namespace {

namespace pmpi = mpi_table::pmpi;
using mpi_table::Pmpi;

constinit Pmpi allgather{"PMPI_Allgather"};
constinit Pmpi allreduce{"PMPI_Allreduce"};
constinit Pmpi broadcast{"PMPI_Bcast"};
constinit Pmpi create_keyval{"PMPI_Comm_create_keyval"};
constinit Pmpi set_attribute{"PMPI_Comm_set_attr"};

struct Registry {
  mpi_table::HandleTable<(1 << 16)> handles;
  std::mutex mutex;
  std::set<Group*> groups;
  std::vector<Group*> unfinished;  ///< of communicators that were freed before their last non-blocking call ended
  std::string backend = "native";
  int keyval = -1;
};
Registry& registry() noexcept {
  // Never destroyed: MPI may be called while the process exits.
  static Registry& only = *new Registry;
  return only;
}

void forget(Word handle) noexcept {
  const auto value = registry().handles.erase(handle);
  if (!value) return;
  auto* group = reinterpret_cast<Group*>(*value);
  {
    const std::lock_guard lock(registry().mutex);
    registry().groups.erase(group);
    // Its thread may need MPI, which is freeing the communicator and may hold a lock: not to be waited for here.
    if (group->issues().is_busy()) return registry().unfinished.push_back(group);
  }
  delete group;
}

// Callbacks of MPI: a duplicate of a communicator has no group yet; a freed one has none any more.
int copy_nothing(Word, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return 0;
}
int forget_freed(Word handle, int, void*, void*) {
  forget(mpi_table::handle_of(handle));
  return 0;
}

/// Asks MPI for a call back when the communicator is freed.
bool follow_end(Word handle) noexcept {
  static const int keyval = [] {
    int made = -1;
    return create_keyval(&copy_nothing, &forget_freed, &made, nullptr) ? made : -1;
  }();
  return keyval != -1 && set_attribute(handle, keyval, nullptr);
}

/// First message between the ranks of a group.
struct Card {
  std::uint64_t rules;
  std::uint64_t host;
};
constexpr std::size_t kOfferBytes = 512;

/// Settings of tutti's communicators: the program's environment, without a limit of time, which MPI does not have.
Config group_config() {
  Config config;
  if (config.source("TUTTI_BACKEND") == "default") config.set("TUTTI_BACKEND", "native");
  if (config.source("TUTTI_TIMEOUT") == "default") config.set("TUTTI_TIMEOUT", "0");
  return config;
}

}  // namespace

void complain(const std::string& text) noexcept {
  static std::atomic<bool> has_complained = false;
  if (!has_complained.exchange(true)) std::fprintf(stderr, "tutti: MPI adapter: %s\n", text.c_str());
}

Group::Group(Word handle) noexcept : handle_(handle) {
  int is_inter = 0;
  if (!pmpi::comm_test_inter(handle, &is_inter) || is_inter != 0) return;
  if (!pmpi::comm_rank(handle, &rank_) || !pmpi::comm_size(handle, &size_)) return;
  if (size_ > 1) state_ = State::undecided;
}

bool Group::is_taken(const Rules& rules, OpKind kind, tutti::TypeClass types,
                     std::optional<std::uint64_t> bytes) noexcept {
  if (!has_sizes_) {
    sizes_ = rules.sizes(size_);
    has_sizes_ = true;
  }
  return rules.takes(kind, types, bytes, sizes_ ? &*sizes_ : nullptr);
}

bool Group::admits(const Rules& rules) noexcept {
  if (state_ == State::refused) return false;
  if (calls_++ < rules.after()) return false;
  if (state_ == State::undecided) meet(rules);
  return state_ == State::served;
}

bool Group::admits_issue(const Rules& rules) noexcept {
  if (state_ == State::refused || calls_++ < rules.after()) return false;
  awaits_meeting_ = state_ == State::undecided;
  return state_ == State::served;
}

bool Group::all_agree(bool mine) const noexcept {
  const int own = mine ? 1 : 0;
  int all = 0;
  return allreduce(&own, &all, 1, int_type(), minimum(), handle_) && all == 1;
}

// All ranks return the same of "" and "not ''"; the text of a rank that failed says why.
std::string Group::exchange(const Rules& rules) noexcept {
  try {
    std::vector<Card> cards(static_cast<std::size_t>(size_));
    const Card mine{rules.key(), spi::host_number()};
    constexpr int kBytes = sizeof mine;
    if (!allgather(&mine, kBytes, byte_type(), cards.data(), kBytes, byte_type(), handle_))
      return "MPI_Allgather failed";
    for (const Card& card : cards) {
      if (card.host != cards.front().host) return "its ranks are on several hosts";
      if (card.rules != cards.front().rules) return "its ranks have different settings TUTTI_PRELOAD*";
    }
  } catch (const std::bad_alloc&) {
    return "no memory";  // the other ranks wait for this one, as they would in MPI
  }
  std::unique_ptr<StoreServer> server;
  std::array<char, kOfferBytes> offer{};
  std::string failure;
  const auto attempt = [&failure](const auto& action) {
    if (!failure.empty()) return;
    try {
      action();
    } catch (const std::exception& error) {
      failure = error.what();
    }
  };
  if (rank_ == 0) {
    attempt([&] {
      const std::string secret = make_secret();
      server =
          std::make_unique<StoreServer>("unix:tutti-" + make_secret().substr(0, 32), secret, StoreJob{.size = size_});
      const std::string text = secret + " " + server->address();
      if (text.size() < offer.size()) std::memcpy(offer.data(), text.c_str(), text.size());
    });
  }
  if (!broadcast(offer.data(), static_cast<int>(offer.size()), byte_type(), 0, handle_)) return "MPI_Bcast failed";
  const std::string text = offer.data();
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) return failure.empty() ? "rank 0 could not set up a store" : failure;
  std::shared_ptr<Store> store;
  attempt([&] {
    store = connect_store(text.substr(space + 1), text.substr(0, space), std::chrono::minutes(1),
                          {.rank = rank_, .size = size_, .server_rank = 0});
  });
  if (!all_agree(failure.empty())) return failure.empty() ? "another rank could not connect to its store" : failure;
  attempt([&] {
    std::array<char, 512> name{};  // MPI_MAX_OBJECT_NAME is 64 to 256
    int length = 0;
    (void)pmpi::comm_get_name(handle_, name.data(), &length);
    CommunicatorOptions options{.config = group_config(), .name = name[0] == '\0' ? "unnamed" : name.data()};
    communicator_ = Communicator(Rendezvous(rank_, size_, store, "mpi"), options);
  });
  // The store is needed no more. Its server ends after the last rank has left.
  if (store != nullptr) store->leave();
  if (!all_agree(failure.empty())) {
    communicator_ = {};
    return failure.empty() ? "another rank could not make its communicator of tutti" : failure;
  }
  return {};
}

void Group::meet(const Rules& rules) noexcept {
  try {
    const std::string problem = exchange(rules);
    state_ = problem.empty() ? State::served : State::refused;
    if (problem.empty()) {
      const std::lock_guard lock(registry().mutex);
      registry().backend = communicator_.backend();
      return;
    }
    note_refusal(problem);
    if (problem.find("several hosts") == std::string::npos) complain("a communicator is left to MPI: " + problem);
  } catch (const std::bad_alloc&) {
    state_ = State::refused;
  }
}

Group* group_of(Word handle) noexcept {
  if (handle == 0 || handle == mpi_table::abi().comm_null) return nullptr;
  if (const auto known = registry().handles.find(handle)) [[likely]]
    return reinterpret_cast<Group*>(*known);
  auto* group = new (std::nothrow) Group(handle);
  if (group == nullptr) return nullptr;
  try {
    const std::lock_guard lock(registry().mutex);
    registry().groups.insert(group);
  } catch (...) {
    delete group;
    return nullptr;
  }
  // Not in the table yet: MPI may call back for a communicator of the same handle that was freed.
  if (!follow_end(handle) || !registry().handles.insert(handle, reinterpret_cast<Word>(group))) {
    const std::lock_guard lock(registry().mutex);
    registry().groups.erase(group);
    delete group;
    return nullptr;
  }
  return group;
}

void forget_groups() noexcept {
  std::vector<Word> handles;
  {
    const std::lock_guard lock(registry().mutex);
    for (const Group* group : registry().groups) handles.push_back(group->handle());
  }
  for (const Word handle : handles) forget(handle);
  for (const Group* group : registry().unfinished) delete group;
  registry().unfinished.clear();
}

std::string serving_backend() {
  const std::lock_guard lock(registry().mutex);
  return registry().backend;
}

}  // namespace tutti::adapters::mpi

#include "tutti/rendezvous.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "settings/settings.hpp"
#include "store/deadline.hpp"
#include "store/local_store.hpp"
#include "store/wire/authentication.hpp"
#include "tutti/error.hpp"
#include "tutti/types/operation.hpp"

namespace tutti {
namespace {

constexpr std::size_t kMostNamed = 16;

/// "rank 2", "rank 2 and 3", "rank 0, 2 and 3".
std::string ranks_text(const std::vector<int>& ranks) {
  const std::size_t named = std::min(ranks.size(), kMostNamed);
  std::string text = "rank ";
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  if (named < ranks.size()) text += " and " + std::to_string(ranks.size() - named) + " more";
  return text;
}

/// One use of a name: its keys, and one deadline for all of its waits.
class Exchange {
 public:
  /// `members` are the members as ranks of the job; empty: all of its ranks.
  Exchange(Store& store, int size, std::span<const int> members, std::string_view name, std::string key,
           std::chrono::nanoseconds timeout)
      : store_(store),
        size_(size),
        members_(members),
        name_(name),
        key_(std::move(key)),
        timeout_(timeout),
        deadline_(deadline_after(timeout)) {}

  /// The store drops the value after `reads` reads.
  void put(int rank, std::string_view value, int reads) {
    store_.put(key_of(rank), value, static_cast<std::uint32_t>(reads));
  }
  void put(const char* what, std::string_view value, int reads) {
    store_.put(key_ + what, value, static_cast<std::uint32_t>(reads));
  }

  /// The value of `rank`. On timeout the error names the missing ranks of rank..last. A rank that leaves the job before
  /// it has put its value ends the wait; if `all_stay`, the leaving of any member does.
  std::string get(int rank, int last, bool all_stay = false) {
    return timed(key_of(rank), all_stay ? WaitedRanks::kAllMembers : job_rank(rank), [&] { throw_absent(rank, last); });
  }
  /// A value that exists once all ranks have arrived.
  std::string get(const char* what) {
    return timed(key_ + what, WaitedRanks::kAllMembers, [&] { throw_absent(0, size_ - 1); });
  }

 private:
  [[nodiscard]] std::string key_of(int rank) const { return key_ + std::to_string(rank); }
  [[nodiscard]] int job_rank(int rank) const {
    return members_.empty() ? rank : members_[static_cast<std::size_t>(rank)];
  }

  template <typename Late>
  std::string timed(const std::string& key, int giver, Late late) {
    try {
      return store_.get(key, time_left(deadline_), {.members = members_, .giver = giver});
    } catch (const Error& error) {
      if (error.code() == ErrorCode::timeout) late();
      if (error.code() != ErrorCode::peer_failure) throw;
      throw Error(ErrorCode::peer_failure,
                  std::string(error.what()) + " while the ranks met for '" + printable(name_) + "'");
    }
  }

  bool came(int rank) {
    try {
      (void)store_.get(key_of(rank), std::chrono::nanoseconds(0));
      return true;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::timeout) return false;
      throw;
    }
  }

  [[noreturn]] void throw_absent(int first, int last) {
    std::vector<int> absent;
    for (int rank = first; rank <= last; ++rank) {
      if (!came(rank)) absent.push_back(job_rank(rank));
    }
    const std::string what = "'" + printable(name_) + "' within " + format_duration(timeout_);
    if (absent.empty()) {
      throw Error(ErrorCode::timeout, "all " + std::to_string(size_) + " ranks reached, but did not complete " + what);
    }
    throw Error(ErrorCode::timeout, ranks_text(absent) +
                                        (members_.empty() ? " of " + std::to_string(size_) : " of the job") +
                                        " did not reach " + what);
  }

  Store& store_;
  int size_;
  std::span<const int> members_;
  std::string_view name_;
  std::string key_;
  std::chrono::nanoseconds timeout_;
  Deadline deadline_;
};

}  // namespace

struct Rendezvous::Counters {
  std::mutex mutex;
  std::map<std::string, std::uint64_t, std::less<>> used;

  std::uint64_t next(std::string_view name) {
    const std::lock_guard lock(mutex);
    return used.try_emplace(std::string(name), 0).first->second++;
  }
};

Rendezvous::Rendezvous(int rank, int size, std::shared_ptr<Store> store, std::string scope,
                       std::chrono::nanoseconds timeout)
    : rank_(rank),
      size_(size),
      store_(std::move(store)),
      scope_(std::move(scope)),
      timeout_(timeout),
      counters_(std::make_shared<Counters>()) {
  if (size < 1 || rank < 0 || rank >= size) {
    throw Error(ErrorCode::invalid_argument, "rank " + std::to_string(rank) + " of " + std::to_string(size) +
                                                 " is out of range; accepted: 0 <= rank < size");
  }
  if (!store_) throw Error(ErrorCode::invalid_argument, "the store of the rendezvous is null");
}

/// A key that is unique for attempt, scope, kind and name, whatever characters the scope contains.
std::string Rendezvous::scoped(char kind, std::string_view name) const {
  return attempt_ + std::to_string(scope_.size()) + ":" + scope_ + "/" + kind + "/" + std::string(name);
}

void Rendezvous::put(std::string_view key, std::string_view value, std::uint32_t reads) const {
  store_->put(scoped('p', key), value, reads);
}

std::string Rendezvous::get(std::string_view key) const {
  return store_->get(scoped('p', key), timeout_, {.members = job_ranks_});
}

std::optional<std::string> Rendezvous::find(std::string_view key) const {
  try {
    return store_->get(scoped('p', key), std::chrono::nanoseconds::zero());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::timeout) throw;
    return std::nullopt;
  }
}

std::string Rendezvous::next_key(std::string_view name) const {
  const std::string key = scoped('x', name);
  return key + "#" + std::to_string(counters_->next(key)) + "/";
}

std::vector<std::string> Rendezvous::allgather(std::string_view name, std::string_view mine) const {
  if (size_ == 1) return {std::string(mine)};
  Exchange exchange(*store_, size_, job_ranks_, name, next_key(name), timeout_);
  exchange.put(rank_, mine, size_ - 1);
  std::vector<std::string> values(static_cast<std::size_t>(size_));
  for (int rank = 0; rank < size_; ++rank) {
    values[static_cast<std::size_t>(rank)] = rank == rank_ ? std::string(mine) : exchange.get(rank, size_ - 1, true);
  }
  return values;
}

std::string Rendezvous::broadcast(std::string_view name, std::string_view value, int root) const {
  if (root < 0 || root >= size_) {
    throw Error(ErrorCode::invalid_argument, "root " + std::to_string(root) + " of broadcast '" + printable(name) +
                                                 "' is out of range; accepted: 0 to " + std::to_string(size_ - 1));
  }
  if (size_ == 1) return std::string(value);
  Exchange exchange(*store_, size_, job_ranks_, name, next_key(name), timeout_);
  if (rank_ != root) return exchange.get(root, root);
  exchange.put(root, value, size_ - 1);
  return std::string(value);
}

void Rendezvous::barrier(std::string_view name) const {
  if (size_ == 1) return;
  const std::string key = next_key(name);
  Exchange arrival(*store_, size_, job_ranks_, name, key, timeout_);
  Exchange departure(*store_, size_, job_ranks_, name, key + "left/", timeout_);
  // Each rank reads its own key last, which drops it: until then a rank that times out can see who has arrived.
  arrival.put(rank_, {}, rank_ == 0 ? 1 : 2);
  if (rank_ != 0) {
    (void)arrival.get("all");
    (void)arrival.get(rank_, rank_);
    try {
      departure.put(rank_, {}, 1);
    } catch (const Error& error) {
      // The last departure may let rank 0, and the store with it, end before the answer arrives. All ranks have arrived
      // in any case.
      if (error.code() != ErrorCode::system && error.code() != ErrorCode::peer_failure) throw;
    }
    return;
  }
  for (int rank = 1; rank < size_; ++rank) (void)arrival.get(rank, size_ - 1, true);
  arrival.put("all", {}, size_ - 1);
  for (int rank = 1; rank < size_; ++rank) (void)departure.get(rank, size_ - 1);
  (void)arrival.get(0, 0);
}

Rendezvous Rendezvous::subset(std::span<const int> members, std::string_view scope) const {
  std::vector<int> sorted(members.begin(), members.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted.empty() || sorted.front() < 0 || sorted.back() >= size_ ||
      std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    throw Error(ErrorCode::invalid_argument, "the members of subset '" + printable(scope) +
                                                 "' must be different ranks from 0 to " + std::to_string(size_ - 1));
  }
  const auto mine = std::find(members.begin(), members.end(), rank_);
  if (mine == members.end()) {
    throw Error(ErrorCode::invalid_argument, "rank " + std::to_string(rank_) + " is not a member of subset '" +
                                                 printable(scope) + "'; only members may call subset()");
  }
  // All members have used this lineage equally often, so parent scope, name, members and count give a scope that only
  // these members use. Its digest keeps the keys of nested subsets short.
  std::string lineage = scoped('s', scope) + "#";
  for (const int member : members) lineage += std::to_string(member) + ",";
  lineage += "#" + std::to_string(counters_->next(lineage));
  const Digest digest = sha256(lineage);
  Rendezvous part(static_cast<int>(mine - members.begin()), static_cast<int>(members.size()), store_,
                  hexadecimal(std::span(digest).first(16)), timeout_);
  part.attempt_ = attempt_;
  for (const int member : members) part.job_ranks_.push_back(job_rank(member));
  return part;
}

Rendezvous Rendezvous::attempt() const {
  const std::string lineage = scoped('a', {});
  const Digest digest = sha256(lineage + "#" + std::to_string(counters_->next(lineage)));
  Rendezvous part = *this;
  part.attempt_ = "attempt " + hexadecimal(std::span(digest).first(16)) + "/";
  part.scope_.clear();
  part.counters_ = std::make_shared<Counters>();
  return part;
}

void Rendezvous::fail(std::string_view reason) const noexcept {
  if (size_ > 1 && !attempt_.empty()) store_->fail(job_rank(rank_), attempt_, reason);
}

std::vector<int> Rendezvous::lost() const {
  std::vector<int> lost;
  for (const int job_rank : store_->lost()) {
    const auto found = std::find(job_ranks_.begin(), job_ranks_.end(), job_rank);
    if (found != job_ranks_.end()) lost.push_back(static_cast<int>(found - job_ranks_.begin()));
    if (job_ranks_.empty() && job_rank < size_) lost.push_back(job_rank);
  }
  return lost;
}

int Rendezvous::job_rank(int rank) const {
  return job_ranks_.empty() ? rank : job_ranks_[static_cast<std::size_t>(rank)];
}

std::vector<Rendezvous> local_rendezvous(int size) {
  const std::shared_ptr<Store> store = make_local_store();
  std::vector<Rendezvous> ranks;
  // For a size below 1 the constructor throws; an empty vector would hide the error.
  for (int rank = 0; rank < std::max(size, 1); ++rank) ranks.emplace_back(rank, size, store);
  return ranks;
}

}  // namespace tutti

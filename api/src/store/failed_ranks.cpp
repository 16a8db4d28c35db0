#include "store/failed_ranks.hpp"

#include <algorithm>

#include "store/wire/store_handshake.hpp"

namespace tutti {
namespace {

constexpr std::size_t kMostEntries = 4096;

}  // namespace

void FailedRanks::add(std::int32_t rank, std::uint64_t order, std::string_view scope, std::string_view who,
                      std::string_view reason) {
  if (entries_.size() == kMostEntries) entries_.pop_front();
  std::string text = std::string(who) + " failed: " + std::string(reason.substr(0, kMaxReasonBytes));
  entries_.push_back({.rank = rank, .order = order, .scope = std::string(scope), .text = std::move(text)});
}

const FailedRanks::Entry* FailedRanks::first(std::string_view key, const Watch& watch) const noexcept {
  if (watch.giver == Watch::kNobody) return nullptr;
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    // A rank that has put its own value may fail afterwards: the value of another giver still comes.
    return key.starts_with(entry.scope) && watch.has(entry.rank) && (watch.giver < 0 || watch.giver == entry.rank);
  });
  return found == entries_.end() ? nullptr : &*found;
}

}  // namespace tutti

#include "store/store_members.hpp"

#include <algorithm>
#include <limits>

#include "settings/settings.hpp"

namespace tutti {
namespace {

constexpr const char* kRemedy =
    "; if the process belongs to another job, give each job its own MASTER_PORT, TUTTI_JOB_ID or TUTTI_JOB_SECRET";

std::string process_text(const Hello& hello) {
  return "pid " + std::to_string(hello.pid) + " on " + printable(hello.host);
}

std::string rank_text(const Hello& hello) { return "rank " + std::to_string(hello.rank) + " of the job"; }

std::string job_text(const std::string& job) { return job.empty() ? "a job without an id" : "job " + printable(job); }

}  // namespace

std::optional<std::string> StoreMembers::objection(const Hello& hello) const {
  if (hello.job != job_) {
    return "it serves " + job_text(job_) + ", and this process (" + process_text(hello) + ") belongs to " +
           job_text(hello.job) + "; set MASTER_PORT to another port for one of the jobs";
  }
  if (size_ > 0 && hello.size != size_) {
    return "its job has " + std::to_string(size_) + " ranks, and this process (rank " + std::to_string(hello.rank) +
           ", " + process_text(hello) + ") says " + std::to_string(hello.size) +
           "; WORLD_SIZE must be the same on all ranks" + kRemedy;
  }
  if (hello.size < 1 || hello.rank >= hello.size) {
    return "rank " + std::to_string(hello.rank) + " of " + std::to_string(hello.size) +
           " is out of range; accepted: 0 <= rank < size";
  }
  const auto found = members_.find(hello.rank);
  if (found == members_.end()) return std::nullopt;
  const Member& member = found->second;
  if (member.is_lost) return lost_text(member) + "; " + process_text(hello) + " cannot take its place" + kRemedy;
  if (member.connections == 0 || member.process.is_same_process(hello)) return std::nullopt;
  return rank_text(hello) + " is " + process_text(member.process) + " already, and " + process_text(hello) +
         " claims to be that rank, too" + kRemedy;
}

std::optional<std::string> StoreMembers::join(const Hello& hello) {
  if (std::optional<std::string> reason = objection(hello)) return reason;
  size_ = hello.size;
  Member& member = members_[hello.rank];
  member.process = hello;
  ++member.connections;
  return std::nullopt;
}

void StoreMembers::leave(std::int32_t rank) {
  Member& member = members_.at(rank);
  if (--member.connections > 0 || member.is_lost) return;
  ++member.left;
  member.left_order = ++events_;
}

void StoreMembers::lose(std::int32_t rank) {
  Member& member = members_.at(rank);
  --member.connections;
  if (member.is_lost) return;
  member.is_lost = true;
  member.lost_order = ++events_;
  lost_.push_back(rank);
}

void StoreMembers::fail(std::int32_t rank, std::string_view scope, std::string_view reason) {
  const Hello& process = members_.at(rank).process;
  failed_.add(rank, ++events_, scope, rank_text(process) + " (" + process_text(process) + ")", reason);
}

std::uint32_t StoreMembers::generation(std::int32_t rank) const {
  const auto found = members_.find(rank);
  return found == members_.end() ? 0 : found->second.left;
}

const StoreMembers::Member* StoreMembers::first_left(const Watch& watch, std::uint32_t generation) const {
  const Member* first = nullptr;
  for (const auto& [rank, member] : members_) {
    const bool is_needed = watch.giver == Watch::kAllMembers ? watch.has(rank) : watch.giver == rank;
    if (!is_needed || member.left <= generation) continue;
    if (first == nullptr || member.left_order < first->left_order) first = &member;
  }
  return first;
}

const StoreMembers::Member* StoreMembers::first_lost(const Watch& watch) const {
  const auto found = std::ranges::find_if(lost_, [&](int rank) { return watch.has(rank); });
  return found == lost_.end() ? nullptr : &members_.at(*found);
}

std::optional<std::string> StoreMembers::ended(const Watch& watch, std::uint32_t generation,
                                               std::string_view key) const {
  if (watch.giver == Watch::kNobody) return std::nullopt;
  const Member* const left = first_left(watch, generation);
  const Member* const lost = first_lost(watch);
  const FailedRanks::Entry* const failed = failed_.first(key, watch);
  constexpr auto kNever = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t left_order = left != nullptr ? left->left_order : kNever;
  const std::uint64_t lost_order = lost != nullptr ? lost->lost_order : kNever;
  const std::uint64_t failed_order = failed != nullptr ? failed->order : kNever;
  if (failed != nullptr && failed_order < std::min(left_order, lost_order)) return failed->text;
  if (lost != nullptr && lost_order < left_order) return lost_text(*lost);
  if (left == nullptr) return std::nullopt;
  return rank_text(left->process) + " (" + process_text(left->process) + ") has left the job";
}

std::optional<std::string> StoreMembers::first_failure() const {
  const FailedRanks::Entry* const failed = failed_.first();
  if (!lost_.empty()) {
    const Member& lost = members_.at(lost_.front());
    if (failed == nullptr || lost.lost_order < failed->order) return lost_text(lost);
  }
  return failed == nullptr ? std::nullopt : std::optional(failed->text);
}

bool StoreMembers::must_tell_others() const {
  return (failed_.first() != nullptr || !lost_.empty()) && static_cast<int>(members_.size()) < size_;
}

std::string StoreMembers::lost_text(const Member& member) {
  return rank_text(member.process) + " (" + process_text(member.process) +
         ") ended or lost its connection to the job's store";
}

}  // namespace tutti

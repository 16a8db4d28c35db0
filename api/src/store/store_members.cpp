#include "store/store_members.hpp"

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
  if (--member.connections == 0 && !member.is_lost) ++member.left;
}

void StoreMembers::lose(std::int32_t rank) {
  Member& member = members_.at(rank);
  --member.connections;
  if (member.is_lost) return;
  member.is_lost = true;
  lost_.push_back(rank);
}

std::uint32_t StoreMembers::generation(std::int32_t rank) const {
  const auto found = members_.find(rank);
  return found == members_.end() ? 0 : found->second.left;
}

std::optional<std::string> StoreMembers::ended(const Watch& watch, std::uint32_t generation) const {
  if (watch.giver == Watch::kNobody) return std::nullopt;
  for (const int rank : lost_) {
    if (watch.has(rank)) return lost_text(members_.at(rank));
  }
  const auto left_text = [](const Member& member) {
    return rank_text(member.process) + " (" + process_text(member.process) + ") has left the job";
  };
  if (watch.giver == Watch::kAllMembers) {
    for (const auto& [rank, member] : members_) {
      if (watch.has(rank) && has_left(member, generation)) return left_text(member);
    }
  } else if (const auto found = members_.find(watch.giver);
             found != members_.end() && has_left(found->second, generation)) {
    return left_text(found->second);
  }
  return std::nullopt;
}

std::string StoreMembers::lost_text(const Member& member) {
  return rank_text(member.process) + " (" + process_text(member.process) +
         ") ended or lost its connection to the job's store";
}

bool StoreMembers::has_left(const Member& member, std::uint32_t generation) noexcept {
  return member.left > generation;
}

}  // namespace tutti

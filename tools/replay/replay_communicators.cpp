#include "replay/replay_communicators.hpp"

#include <algorithm>
#include <set>

#include "tutti/error.hpp"

namespace tutti::tools {

namespace {
constexpr std::size_t kMostTags = 256;
}

CommunicatorOptions replay_options(const replay::JobRecord& record) {
  CommunicatorOptions options;
  const bool is_async = std::ranges::any_of(record.operations, [](const auto& op) { return op.async; });
  if (is_async && record.communicators.size() > 1) options.config.set("TUTTI_PROGRESS_THREAD", "1", "tutti replay");
  return options;
}

ReplayCommunicators::ReplayCommunicators(const replay::JobRecord& record, const Communicator& job) : all_({job}) {
  for (std::size_t i = 1; i < record.communicators.size(); ++i) {
    const replay::RecordedCommunicator& one = record.communicators[i];
    if (one.ranks.empty()) {
      all_.push_back(job.duplicate(one.name));
      continue;
    }
    const auto place = std::ranges::find(one.ranks, job.rank());
    const bool is_member = place != one.ranks.end();
    all_.push_back(job.split(is_member ? 0 : -1, static_cast<int>(place - one.ranks.begin()), one.name));
  }
  std::set<std::pair<std::uint32_t, std::int32_t>> tags;
  for (const replay::RecordedOperation& op : record.operations) {
    if (op.tag != 0) tags.insert({op.communicator, op.tag});
  }
  if (tags.size() > kMostTags)
    throw Error(ErrorCode::unsupported, "the record has " + std::to_string(tags.size()) +
                                            " different tags of messages; a replay takes at most " +
                                            std::to_string(kMostTags));
  for (std::size_t i = 0; i < all_.size(); ++i) of_tag_[{static_cast<std::uint32_t>(i), 0}] = all_[i];
  for (const auto& tag : tags) {
    if (all_[tag.first]) of_tag_[tag] = all_[tag.first].duplicate("tag " + std::to_string(tag.second));
  }
}

}  // namespace tutti::tools

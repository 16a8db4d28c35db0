#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "record/record.hpp"
#include "tutti/communicator.hpp"

namespace tutti::tools {

/// Options of the communicator that a record is replayed on. An asynchronous collective makes progress while its rank
/// waits for another communicator, as the record's library may have done: by a thread, where there are both.
[[nodiscard]] CommunicatorOptions replay_options(const replay::JobRecord& record);

/// The communicators of a record, made before its operations are replayed. Messages with different tags get separate
/// communicators, because tutti's messages have none.
class ReplayCommunicators {
 public:
  /// Collective over `job`. Throws tutti::Error.
  ReplayCommunicators(const replay::JobRecord& record, const Communicator& job);

  /// For an operation that this rank takes part in.
  [[nodiscard]] const Communicator& get(const replay::RecordedOperation& op) const {
    return of_tag_.at({op.communicator, op.tag});
  }
  /// Empty on ranks that are no members.
  [[nodiscard]] const Communicator& get(std::size_t index) const { return all_[index]; }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

 private:
  std::vector<Communicator> all_;
  std::map<std::pair<std::uint32_t, std::int32_t>, Communicator> of_tag_;
};

}  // namespace tutti::tools

#pragma once

#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "record/rank_writer.hpp"
#include "tutti/observer.hpp"

namespace tutti::replay {

/// Records what the ranks of this process communicate through tutti: a part per rank. Records that cannot be written
/// are lost; the program goes on.
class RecordObserver final : public Observer {
 public:
  /// `folder` exists.
  explicit RecordObserver(std::string folder, std::size_t limit = RankWriter::kDefaultLimit)
      : folder_(std::move(folder)), limit_(limit) {}

  using Observer::on;
  void on(const CommunicatorCreated& record) noexcept override;
  void on(const OpIssued& record) noexcept override;
  void on(const WaitBegun& record) noexcept override;
  void on(const OpCompleted& record) noexcept override;

  /// Ends all parts in order. Nothing is recorded afterwards.
  void finish() noexcept;

 private:
  struct Member {
    RankWriter* writer = nullptr;
    int size = 0;
  };

  void add(const CommunicatorCreated& record);
  [[nodiscard]] RankWriter& writer_of(const CommunicatorCreated& record);
  [[nodiscard]] Member member(std::uint64_t communicator) noexcept;
  /// Asks the writers, this thread's last one first, until one takes the event.
  template <typename Take>
  void offer(const Take& take) noexcept;

  std::string folder_;
  std::size_t limit_;
  std::shared_mutex mutex_;                             ///< exclusive only when a communicator is made
  std::map<int, std::unique_ptr<RankWriter>> writers_;  ///< by rank of the job
  int job_size_ = 0;
  std::unordered_map<std::uint64_t, Member> members_;  ///< by number of the communicator in this process
};

}  // namespace tutti::replay

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "segment/channels.hpp"
#include "tutti/error.hpp"
#include "tutti/operation.hpp"

namespace tutti::native {

/// Why a communicator is good for nothing any more.
struct Failure {
  ErrorCode code;
  std::string reason;
};

/// Notices that something failed, on this rank or another, and tells all. The first failure wins.
class FailureBoard {
 public:
  FailureBoard(const Channels& channels, std::vector<bool> same_process);

  /// Whether a failure has been told. On the path of every operation.
  [[nodiscard]] bool has_failed() const noexcept {
    return record_.state.load(std::memory_order_seq_cst) == FailureRecord::kSet;
  }
  /// Whether a rank has begun to tell one: its call throws whatever becomes of that.
  [[nodiscard]] bool is_failing() const noexcept {
    return record_.state.load(std::memory_order_seq_cst) != FailureRecord::kNone;
  }
  /// What was told.
  [[nodiscard]] Failure read() const;
  /// Tells everybody, unless somebody was faster, and wakes who sleeps. From any thread.
  void post(ErrorCode code, int culprit, std::string_view text) const noexcept;

  /// A peer whose process has ended without a goodbye. Asks the system about each: not more often than every
  /// kProbeInterval.
  [[nodiscard]] std::optional<int> find_dead() const noexcept;
  /// A peer that has left and will therefore never enter this collective.
  [[nodiscard]] std::optional<int> find_left(std::uint64_t collective) const noexcept;
  [[nodiscard]] bool has_left(int rank) const noexcept;

  /// "rank 3 is still in broadcast #16, rank 2 has not entered".
  [[nodiscard]] std::string who_is_late(std::uint64_t collective) const;
  /// "rank 0 is in allreduce #4", "rank 0 is in no collective".
  [[nodiscard]] std::string whereabouts(int rank) const;

  static constexpr std::chrono::milliseconds kProbeInterval{50};

 private:
  struct Position {
    std::uint64_t entered;
    std::uint64_t completed;
  };
  [[nodiscard]] Position position(int rank) const noexcept;

  const Channels& channels_;
  FailureRecord& record_;
  std::vector<bool> same_process_;  // ranks that cannot die without this process
};

}  // namespace tutti::native

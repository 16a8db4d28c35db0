#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "segment/channels.hpp"
#include "tutti/error.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::native {

/// Reason why a communicator can no longer be used.
struct Failure {
  ErrorCode code;
  std::string reason;
};

/// Detects failures of this and other ranks and reports them to all ranks. The first failure wins.
class FailureBoard {
 public:
  FailureBoard(const Channels& channels, std::vector<bool> same_process);

  /// Whether a failure has been reported. On the path of every operation.
  [[nodiscard]] bool has_failed() const noexcept {
    return record_.state.load(std::memory_order_seq_cst) == FailureRecord::kSet;
  }
  /// Whether a rank has begun to report a failure: the call of that rank throws in any case.
  [[nodiscard]] bool is_failing() const noexcept {
    return record_.state.load(std::memory_order_seq_cst) != FailureRecord::kNone;
  }
  /// The reported failure.
  [[nodiscard]] Failure read() const;
  /// Reports a failure to all ranks, unless another one was faster, and wakes sleeping ranks. From any thread.
  void post(ErrorCode code, int culprit, std::string_view text) const noexcept;

  /// A peer whose process ended without leaving the communicator. Costs a system call per peer: not more often than
  /// every kProbeInterval.
  [[nodiscard]] std::optional<int> find_dead() const noexcept;
  /// How the process of such a peer ended, after "rank 2": " died ..." or " exited with code 3 ...".
  [[nodiscard]] std::string end_of(int rank) const;
  /// A peer that has left the communicator and will therefore never enter this collective.
  [[nodiscard]] std::optional<int> find_left(std::uint64_t collective) const noexcept;
  [[nodiscard]] bool has_left(int rank) const noexcept;
  /// Whether a rank is a thread of this process, so that it cannot die without this one. Its lock cannot be seen.
  [[nodiscard]] bool is_in_this_process(int rank) const noexcept {
    return same_process_[static_cast<std::size_t>(rank)];
  }

  /// "rank 3 is still in broadcast #16, rank 2 has not entered".
  [[nodiscard]] std::string who_is_late(std::uint64_t collective) const;
  /// "rank 0 is in allreduce #4", "rank 0 is not in a collective".
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
  std::vector<bool> same_process_;  // by rank
};

}  // namespace tutti::native

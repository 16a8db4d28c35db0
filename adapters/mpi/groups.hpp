#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "gains/rules.hpp"
#include "issue/issue_queue.hpp"
#include "mpi_handles.hpp"
#include "tutti/communicator.hpp"

/// Communicators of the program and those that tutti makes of them.
namespace tutti::adapters::mpi {

/// A communicator of the program. Calls on it are serialised by the program, as MPI requires for collectives.
class Group {
 public:
  /// Asks MPI about it. Local.
  explicit Group(Word handle) noexcept;

  [[nodiscard]] Word handle() const noexcept { return handle_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  /// Whether the calls on it may be served: an intra-communicator of several ranks that was not refused.
  [[nodiscard]] bool is_open() const noexcept { return state_ != State::refused; }

  /// Whether the rules take such a call; see Rules::takes().
  [[nodiscard]] bool is_taken(const Rules& rules, OpKind kind, tutti::TypeClass types,
                              std::optional<std::uint64_t> bytes) noexcept;
  /// Called by all ranks for each of their suitable calls, in the same order: whether tutti carries this one out.
  /// The first calls are left to MPI; then the ranks make a communicator of tutti, or agree that they cannot.
  [[nodiscard]] bool admits(const Rules& rules) noexcept;
  /// The same for a non-blocking call, which cannot wait until the ranks have met: it is left to MPI before. They meet
  /// at their next blocking collective, whichever it is.
  [[nodiscard]] bool admits_issue(const Rules& rules) noexcept;
  /// Whether a non-blocking call would have been admitted if the ranks had met. Equal on all ranks between two
  /// collectives.
  [[nodiscard]] bool awaits_meeting() const noexcept { return awaits_meeting_ && state_ == State::undecided; }
  /// Makes a communicator of tutti, or agrees that there is none; by all ranks in a blocking collective.
  void meet(const Rules& rules) noexcept;
  /// Number of this call among those of its kind that were admitted, equal on all ranks.
  [[nodiscard]] std::uint64_t count(OpKind kind) noexcept { return admitted_[static_cast<std::size_t>(kind)]++; }
  /// Valid while admits() is true.
  [[nodiscard]] const Communicator& communicator() const noexcept { return communicator_; }
  /// Non-blocking calls on it. A blocking call begins when they have been carried out, in the order of the program.
  [[nodiscard]] IssueQueue& issues() noexcept { return issues_; }

 private:
  enum class State : std::uint8_t { undecided, served, refused };
  [[nodiscard]] bool all_agree(bool mine) const noexcept;
  [[nodiscard]] std::string exchange(const Rules& rules) noexcept;

  Word handle_;
  int rank_ = 0;
  int size_ = 1;
  State state_ = State::refused;
  std::uint64_t calls_ = 0;
  bool awaits_meeting_ = false;
  std::array<std::uint64_t, kOpKindCount> admitted_{};
  bool has_sizes_ = false;  ///< sizes_ is known
  std::optional<GainingSizes> sizes_;
  Communicator communicator_;
  IssueQueue issues_;  ///< ends before the communicator
};

/// The group of a communicator; null for MPI_COMM_NULL and without memory. Kept until MPI frees the communicator.
[[nodiscard]] Group* group_of(Word handle) noexcept;
/// Before MPI ends: carries out what was issued and destroys the communicators of tutti.
void forget_groups() noexcept;
/// Name of the backend that serves; "native" before the first communicator.
[[nodiscard]] std::string serving_backend();

/// One line on standard error per process, the first time; false if one was written before.
void complain(const std::string& text) noexcept;

}  // namespace tutti::adapters::mpi

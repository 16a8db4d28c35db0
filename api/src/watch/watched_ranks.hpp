#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tutti/error.hpp"
#include "tutti/spi/file_descriptor.hpp"

namespace tutti::detail {

struct CommunicatorState;

/// The ranks of one communicator as the watcher sees them. Used by the watcher's thread.
class WatchedRanks {
 public:
  using Clock = std::chrono::steady_clock;

  explicit WatchedRanks(CommunicatorState& state);

  [[nodiscard]] CommunicatorState& state() const noexcept { return state_; }
  /// Looks at the other ranks and at the time of the present call. Makes the communicator fail when a rank that it
  /// needs is gone, or when the call takes too long. Allocates nothing as long as all ranks of this host are well.
  void look(Clock::time_point now) noexcept;

  enum class Others : std::uint8_t { have_left, stay, have_failed };
  /// Shows that this process exits, and says what the other ranks of this host do.
  [[nodiscard]] Others at_exit() noexcept;

 private:
  struct Peer {
    int rank;
    spi::FileDescriptor process;  ///< pidfd; empty: of another host, or of a kernel without them
    int looks_gone = 0;           ///< looks since the process has ended
    int looks_left = 0;           ///< looks of the present call since the rank has destroyed the communicator
  };

  /// The reason for which the communicator has to fail, or nothing.
  [[nodiscard]] std::optional<Error> find_failure();
  [[nodiscard]] std::optional<Error> find_death(Peer& peer) const;
  [[nodiscard]] std::optional<Error> find_departure(Peer& peer) const;
  void act_on_hang(Clock::time_point now);
  void fail(const Error& cause) noexcept;

  CommunicatorState& state_;
  std::vector<Peer> peers_;
  bool has_strangers_ = false;  ///< ranks whose processes cannot be seen, e.g. on other hosts
  std::vector<int> lost_;       ///< ranks whose connection to the job's store has ended
  std::uint64_t look_count_ = 0;
  std::optional<Error> failure_;  ///< for which the communicator was given up
  bool has_reported_ = false;     ///< that the present call takes too long
  std::uint64_t activity_ = 0;
  Clock::time_point since_ = Clock::now();  ///< since when `activity_` stands still
};

}  // namespace tutti::detail

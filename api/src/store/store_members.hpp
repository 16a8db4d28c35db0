#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/failed_ranks.hpp"
#include "store/wire/store_handshake.hpp"
#include "store/wire/store_protocol.hpp"

namespace tutti {

/// The ranks of a job as the server of its store sees them: which process is which rank, which ranks have left and
/// which are lost. Independent of sockets; for one thread.
///
/// A rank may be several processes one after the other, for example the programs of a shell script that every rank
/// runs: a process may take the place of one that has left. Its generation is the number of times that the rank has
/// left before. A rank waits for processes of its own generation, and only they see its keys.
class StoreMembers {
 public:
  /// `size` 0: the size that the first rank names.
  StoreMembers(std::string_view job, int size) : job_(short_job_id(job)), size_(size) {}

  /// Admits a rank, or returns the reason why not: another job, another size, or a place that another process has.
  [[nodiscard]] std::optional<std::string> join(const Hello& hello);
  /// Ends a connection of a rank that join() has admitted.
  void leave(std::int32_t rank);
  void lose(std::int32_t rank);
  /// See Store::fail(); of a rank that join() has admitted.
  void fail(std::int32_t rank, std::string_view scope, std::string_view reason);

  /// Generation of the process that is the rank now.
  [[nodiscard]] std::uint32_t generation(std::int32_t rank) const;
  /// A sentence that names the rank whose end or failure made the wait of a process of this generation hopeless first:
  /// later ones may be its consequences.
  [[nodiscard]] std::optional<std::string> ended(const Watch& watch, std::uint32_t generation,
                                                 std::string_view key) const;
  /// A sentence that names the rank that failed or was lost first; nothing if none did.
  [[nodiscard]] std::optional<std::string> first_failure() const;
  /// Whether ranks have failed while others have not come yet, which are to be told.
  [[nodiscard]] bool must_tell_others() const;
  /// The lost ranks in the order of their loss.
  [[nodiscard]] const std::vector<int>& lost() const noexcept { return lost_; }

 private:
  struct Member {
    Hello process;  ///< the last one
    int connections = 0;
    std::uint32_t left = 0;        ///< number of times that the rank has left
    std::uint64_t left_order = 0;  ///< of the last time, among the events of the job
    std::uint64_t lost_order = 0;
    bool is_lost = false;
  };

  [[nodiscard]] std::optional<std::string> objection(const Hello& hello) const;
  [[nodiscard]] static std::string lost_text(const Member& member);
  /// The first member that has left of those that the watch needs; null if none has.
  [[nodiscard]] const Member* first_left(const Watch& watch, std::uint32_t generation) const;
  [[nodiscard]] const Member* first_lost(const Watch& watch) const;

  std::string job_;
  int size_;
  std::map<std::int32_t, Member> members_;
  std::vector<int> lost_;
  FailedRanks failed_;
  std::uint64_t events_ = 0;  ///< number of failures, losses and leaves
};

}  // namespace tutti

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/store_handshake.hpp"
#include "store/store_protocol.hpp"

namespace tutti {

/// The ranks of a job as the server of its store sees them: which process is which rank, which ranks have left and
/// which are lost. Independent of sockets; for one thread.
///
/// A rank may be several processes one after the other, for example the programs of a shell script that every rank
/// runs: a process may take the place of one that has left. Its generation is the
/// number of times that the rank has left before, and a rank waits for processes of its own generation.
class StoreMembers {
 public:
  /// `size` 0: the size that the first rank names.
  StoreMembers(std::string_view job, int size) : job_(short_job_id(job)), size_(size) {}

  /// Admits a rank, or returns the reason why not: another job, another size, or a place that another process has.
  [[nodiscard]] std::optional<std::string> join(const Hello& hello);
  /// Ends a connection of a rank that join() has admitted.
  void leave(std::int32_t rank);
  void lose(std::int32_t rank);

  /// Generation of the process that is the rank now.
  [[nodiscard]] std::uint32_t generation(std::int32_t rank) const;
  /// A sentence that names a rank whose end makes the wait of a process of this generation hopeless.
  [[nodiscard]] std::optional<std::string> ended(const Watch& watch, std::uint32_t generation) const;
  /// The lost ranks in the order of their loss.
  [[nodiscard]] const std::vector<int>& lost() const noexcept { return lost_; }

 private:
  struct Member {
    Hello process;  ///< the last one
    int connections = 0;
    std::uint32_t left = 0;  ///< number of times that the rank has left
    bool is_lost = false;
  };

  [[nodiscard]] std::optional<std::string> objection(const Hello& hello) const;
  [[nodiscard]] static std::string lost_text(const Member& member);
  [[nodiscard]] static bool has_left(const Member& member, std::uint32_t generation) noexcept;

  std::string job_;
  int size_;
  std::map<std::int32_t, Member> members_;
  std::vector<int> lost_;
};

}  // namespace tutti

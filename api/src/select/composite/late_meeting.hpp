#pragma once

#include <string>

#include "tutti/error.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti {

/// Meeting of all ranks of a communicator that is in use already, before they do together something that blocks. While
/// it waits, a rank goes on with the operations for which others wait before they come.
class LateMeeting {
 public:
  /// The scope of the rendezvous belongs to this meeting alone.
  explicit LateMeeting(Rendezvous rendezvous) : rendezvous_(std::move(rendezvous)) {}

  /// Announces this rank, and says whether all ranks have come; does not wait for them. Throws the Error with which a
  /// rank called the meeting off, or Error{peer_failure} if a rank is lost. Called by one thread at a time.
  [[nodiscard]] bool all_came();
  /// Ends the meeting on all ranks with an error; false if they have agreed already to go on. Called from any thread.
  bool call_off(const Error& cause) noexcept;
  /// "rank 1 and 3", the ranks that have not come.
  [[nodiscard]] std::string missing() const;

  [[nodiscard]] const Rendezvous& rendezvous() const noexcept { return rendezvous_; }

 private:
  [[nodiscard]] bool came(int rank) const;
  void decide();

  Rendezvous rendezvous_;
  bool is_announced_ = false;
  bool have_met_ = false;
  int next_ = 0;  ///< on rank 0: the first rank that it has not seen
};

}  // namespace tutti

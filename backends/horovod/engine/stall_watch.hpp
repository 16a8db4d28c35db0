#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "engine/stall_inspector.hpp"
#include "negotiation/controller.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti::horovod {

/// Finds the tensors that only some ranks have submitted, on every rank that has some. Ranks that take part in the
/// rounds are known by their messages. A rank without tensors takes part in none: it is found through the job's store,
/// where the ranks that wait in a round answer when one of them asks. Not synchronised.
class StallWatch {
 public:
  using Time = StallInspector::Time;

  /// `meeting`: of the process set, with a scope of its own.
  StallWatch(const StallInspector::Options& options, Rendezvous meeting);

  /// After a round, with its messages.
  [[nodiscard]] StallInspector::Report after_round(std::span<const RoundMessage> messages, const Controller& controller,
                                                   Time now);
  /// While this rank waits in round `round` with these tensors; called about five times in a second. Returns a report
  /// once.
  [[nodiscard]] StallInspector::Report in_round(std::uint64_t round, const std::set<std::string>& tensors, Time now);

  /// Wants an answer soon: the next report names all tensors that wait. From any thread.
  void ask() noexcept { is_asked_.store(true, std::memory_order_relaxed); }

  /// Tells the other ranks why this rank ends the engine, before it does.
  void announce_end(const std::string& message) noexcept;
  /// The reason that a rank has announced; nothing if none has.
  [[nodiscard]] std::optional<std::string> announced_end() noexcept;

 private:
  using Missing = std::pair<std::string, std::set<int>>;  ///< tensor and ranks that have submitted it

  void note(const std::vector<Missing>& incomplete, Time since);
  [[nodiscard]] std::set<int> all_ranks() const;
  [[nodiscard]] std::string key_of(const char* what, int rank) const;

  std::atomic<bool> is_asked_ = false;
  StallInspector::Options options_;
  StallInspector inspector_;
  Rendezvous meeting_;
  std::map<std::string, Time> known_;  ///< tensors that the inspector has, and since when they are known
  Time next_look_;
  // Of the round that this rank waits in.
  std::uint64_t round_ = 0;
  bool is_waiting_ = false;
  bool has_answered_ = false;
  Time since_ = {};
  int looks_ = 0;  ///< since this rank has asked; 0: not yet
};

}  // namespace tutti::horovod

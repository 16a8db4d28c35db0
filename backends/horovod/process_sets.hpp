#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/set_engine.hpp"
#include "engine/stall_board.hpp"
#include "tutti/spi/nested.hpp"

namespace tutti::horovod {

/// The process sets of a communicator, each with an engine and communicators of its own, so that sets with common ranks
/// do not wait for each other. Set 0 has all ranks. Thread-safe, but collective calls are made one at a time.
class ProcessSets {
 public:
  /// `inner`: the communicator of all ranks; outlives it.
  ProcessSets(const spi::CreateContext& context, spi::BackendCommunicator& inner);

  /// Makes a set and returns its number; collective over all ranks. Throws Error{invalid_argument} if the ranks are
  /// wrong, differ between the ranks, or form a set that exists.
  [[nodiscard]] int add(std::span<const int> ranks);
  /// Ends a set; collective over all ranks. Its number is given to a later set.
  void remove(int id);
  [[nodiscard]] std::vector<int> ids() const;
  [[nodiscard]] std::vector<int> ranks(int id) const;
  /// The engine of a set that this rank belongs to. Throws Error{invalid_argument} with upstream's text otherwise.
  [[nodiscard]] std::shared_ptr<SetEngine> engine(int id) const;
  [[nodiscard]] SetEngine& all_ranks() noexcept { return *all_; }
  /// This rank's number in a set that it belongs to.
  [[nodiscard]] int rank_in(int id) const;

  /// That of the first set that has one.
  [[nodiscard]] std::string stall_warning() const;

  /// Whether an inner backend that autotune may choose needs the core's watch, see BackendCommunicator::needs_watch().
  [[nodiscard]] bool needs_watch() const noexcept { return inners_.size() > 1; }

  void fail(const Error& error) noexcept;
  bool interrupt(const Error& cause) noexcept;
  void close() noexcept;

 private:
  struct Set {
    std::vector<int> ranks;
    std::shared_ptr<SetEngine> engine;  ///< null on other ranks
  };

  [[nodiscard]] int core_of_this_rank(const std::vector<int>& cores) const;
  [[nodiscard]] std::optional<std::uint64_t> given_partition() const;
  [[nodiscard]] KeptResult kept_result() const { return {config_, "horovod:" + inner_.name(), peers_.size}; }
  [[nodiscard]] std::unique_ptr<Autotuner> make_tuner(const HorovodSettings& settings) const;
  [[nodiscard]] std::shared_ptr<SetEngine> make_engine(std::span<const int> members, const std::string& scope);
  void make_all_ranks(const HorovodSettings& settings);
  [[nodiscard]] const Set& checked(int id) const;
  void require_agreement(const std::string& call);
  [[nodiscard]] std::vector<std::shared_ptr<SetEngine>> engines() const;

  Config config_;
  Rendezvous meeting_;
  spi::Peers peers_;
  bool is_first_;  ///< the communicator was not made of another one, which tunes and writes the timeline
  spi::BackendCommunicator& inner_;
  std::vector<std::string> inners_;  ///< inner backends among which autotune chooses, the own one first
  StallBoard stall_board_;           ///< before the engines, which use it
  mutable std::mutex mutex_;         // guards the following
  std::vector<Set> sets_;            ///< by number; one without ranks has been removed
  std::vector<int> free_;            ///< numbers of removed sets, the first removed one first
  std::shared_ptr<SetEngine> all_;
};

}  // namespace tutti::horovod

#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tutti::horovod {

/// Finds tensors that only some ranks have submitted. The coordinator reports to it each submission of a rank and each
/// completion, and every rank the tensors that wait in its response cache. Times are passed in. Not synchronised.
class StallInspector {
 public:
  using Time = std::chrono::steady_clock::time_point;

  using Names = std::set<std::string>;
  using Missing = std::map<int, Names>;  ///< tensors by rank that has not submitted them

  struct Options {
    bool enabled = true;
    std::chrono::seconds warning{60};
    std::chrono::seconds shutdown{0};  ///< 0, or less than `warning`: never
  };

  /// The missing ranks of the tensors that are late.
  struct Report {
    std::string message;      ///< upstream's warning; empty: there is nothing to report
    bool shuts_down = false;  ///< a tensor is later than Options::shutdown
    bool is_answer = false;   ///< to StallWatch::ask(): all tensors that wait, however short; no message
    Missing missing;

    [[nodiscard]] bool empty() const noexcept { return message.empty(); }
  };

  /// `size`: number of ranks of the process set; `start`: the first check is one warning time later.
  StallInspector(Options options, int size, Time start);

  /// A rank has submitted the tensor; a second submission of the same rank changes nothing.
  void submitted(const std::string& tensor, int rank, Time now);
  /// All ranks have submitted the tensor, or it has failed.
  void completed(const std::string& tensor);

  /// This rank waits for the others with a tensor that is in its response cache.
  void cached(const std::string& tensor, Time now);
  void cached_completed(const std::string& tensor);
  /// Tensors to invalidate in the response cache: they are late, and only the negotiation without the cache tells the
  /// coordinator who is missing.
  [[nodiscard]] std::vector<std::string> late_cached(Time now) const;

  /// Whether more than the warning time has passed since the last check.
  [[nodiscard]] bool is_due(Time now) const noexcept;
  /// Looks at all tensors; the next check is due one warning time later. `joined`: ranks that have joined and therefore
  /// are missing nowhere.
  [[nodiscard]] Report check(Time now, const std::set<int>& joined = {});
  /// The same for all tensors, however short they wait, as an answer.
  [[nodiscard]] Report answer(const std::set<int>& joined = {}) const;

  /// Upstream's warning about its own settings: a shutdown time below the warning time has no effect. Empty if there is
  /// no such conflict.
  [[nodiscard]] std::string conflict() const;

 private:
  struct Waiting {
    std::set<int> ranks;
    Time since;
  };

  [[nodiscard]] bool can_shut_down() const noexcept;
  [[nodiscard]] std::string message_of(const Report& report, const std::set<int>& doomed) const;

  Options options_;
  int size_;
  Time last_check_;
  std::map<std::string, Waiting> waiting_;
  std::map<std::string, Time> cached_;
};

}  // namespace tutti::horovod

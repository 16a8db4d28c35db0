#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "engine/stall_inspector.hpp"
#include "tutti/spi/call_progress.hpp"

namespace tutti::horovod {

/// "rank 1 has not submitted 'a' and 'b'; rank 3 has not submitted 'a' and 7 more". `members`: by rank of the process
/// set the rank in the communicator.
[[nodiscard]] std::string describe_stall(const StallInspector::Missing& missing, std::span<const int> members);

/// Shows the late tensors of all process sets of a communicator on the progress board of this process. Thread-safe.
class StallBoard {
 public:
  /// `progress`: where the communicator shows its progress; null: nowhere.
  explicit StallBoard(spi::CallProgress* progress) noexcept : progress_(progress) {}
  /// Takes everything back.
  ~StallBoard();
  StallBoard(const StallBoard&) = delete;
  StallBoard& operator=(const StallBoard&) = delete;

  /// Replaces what is shown of a process set; `missing` by rank of the set, empty: nothing is late.
  void show(const std::string& set, const StallInspector::Missing& missing, std::span<const int> members);

 private:
  spi::CallProgress* progress_;
  std::mutex mutex_;
  std::map<std::string, std::pair<std::string, int>> stalls_;  ///< text and first missing rank by set
};

}  // namespace tutti::horovod

#pragma once

#include <string>
#include <string_view>

#include "launch/job.hpp"

namespace tutti::tools {

/// Collects the signs of a failing job and makes one line of them.
class JobFailure {
 public:
  /// A rank gives up; -1: it does not know its number yet. The first report counts.
  void reported(int rank, std::string_view text);
  /// Ranks or launcher wrote to standard error.
  void heard(std::string_view bytes);

  /// "failed: MESSAGE", "crashed: signal 11", "exited with 3": for a job that did not do its work.
  [[nodiscard]] std::string status(const JobEnd& end) const;
  /// The last line of standard error, if it tells more than the status.
  [[nodiscard]] std::string note(const JobEnd& end) const;

 private:
  std::string failure_;
  int rank_ = -1;
  std::string last_error_;
};

}  // namespace tutti::tools

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "faults/campaign/verdict/verdict.hpp"

namespace tutti::test::campaign {

/// A finished run as the summary needs it.
struct Entry {
  std::uint64_t seed = 0;
  std::uint64_t run = 0;
  std::string backend;
  std::string fault;
  Verdict verdict = Verdict::ok;
  std::string reason;
  double noticed_s = -1;
};

/// One line of JSON with everything that is known of a run. Bad runs keep the reports of the ranks, the evidence of a
/// hang and the end of the output. `attempt`: number of the attempt that decided, from 1.
[[nodiscard]] std::string journal_line(const RunPlan& plan, const JobResult& result, const Judgement& judgement,
                                       int attempt);

/// Reads such a line; nothing if it is torn.
[[nodiscard]] std::optional<Entry> parse_journal_line(const std::string& line);

/// A file with one line per run. A line is appended by a single write, so that a campaign that is killed loses at most
/// its last line.
class Journal {
 public:
  Journal() = default;
  /// Opens the file for appending; a torn last line is ended. Throws std::runtime_error.
  explicit Journal(const std::string& path);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void append(const std::string& line) const;

  /// The runs in a file; no file: none.
  [[nodiscard]] static std::vector<Entry> read(const std::string& path);

 private:
  int file_ = -1;
};

}  // namespace tutti::test::campaign

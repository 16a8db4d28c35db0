#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>

#include "report/profile.hpp"

namespace tutti::test {

/// Numbers of a row of a tally, for comparison with somebody else's count.
struct TallyCounts {
  std::uint64_t calls = 0;
  std::uint64_t errors = 0;
  std::uint64_t bytes = 0;  ///< of the calls that succeeded
  bool operator==(const TallyCounts&) const = default;
};

/// Rows by "KIND|TITLE|NAME|CONTEXT", as a program counts them itself. Thread-safe.
class ExpectedTally {
 public:
  void add(const std::string& key, std::uint64_t bytes, bool failed) {
    const std::scoped_lock lock(mutex_);
    TallyCounts& row = rows_[key];
    ++row.calls;
    row.errors += failed ? 1 : 0;
    row.bytes += failed ? 0 : bytes;
  }
  /// One line per row, for the test that started the program.
  void print() const {
    const std::scoped_lock lock(mutex_);
    std::ostringstream text;
    for (const auto& [key, row] : rows_)
      text << "@tally " << row.calls << ' ' << row.errors << ' ' << row.bytes << ' ' << key << '\n';
    std::fputs(text.str().c_str(), stdout);
    std::fflush(stdout);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, TallyCounts> rows_;
};

/// The rows that the processes of a job have printed, added up.
inline std::map<std::string, TallyCounts> printed_tally(const std::string& output) {
  std::map<std::string, TallyCounts> rows;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find("@tally ");  // behind a prefix of the launcher
    if (begin == std::string::npos) continue;
    std::istringstream words(line.substr(begin + 7));
    TallyCounts read;
    std::string key;
    words >> read.calls >> read.errors >> read.bytes;
    words.ignore();
    std::getline(words, key);
    TallyCounts& row = rows[key];
    row.calls += read.calls;
    row.errors += read.errors;
    row.bytes += read.bytes;
  }
  return rows;
}

inline std::string_view kind_name(profiling::Kind kind) {
  constexpr std::string_view kNames[] = {"host", "device", "traffic", "allocation", "release", "operation", "stage"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// "allreduce/float32/native/label/1024/2", or an empty text.
inline std::string context_text(const profiling::ContextRow& row) {
  return row.operation + "/" + row.type + "/" + row.backend + "/" + row.label + "/" + std::to_string(row.bytes) + "/" +
         std::to_string(row.ranks);
}

/// The rows of a profile in the same form. `with_contexts`: of records that are no operations, too.
inline std::map<std::string, TallyCounts> recorded_tally(const profiling::Profile& profile, bool with_contexts = true) {
  std::map<std::string, TallyCounts> rows;
  for (const profiling::TallyRow& row : profile.rows) {
    std::string key = std::string(kind_name(row.kind)) + "|" +
                      (row.source < 0 ? "" : profile.sources[static_cast<std::size_t>(row.source)].title) + "|" +
                      row.name + "|";
    const bool has_context = with_contexts || row.kind == profiling::Kind::operation;
    if (has_context && row.context >= 0) key += context_text(profile.contexts[static_cast<std::size_t>(row.context)]);
    const bool is_timed = row.kind == profiling::Kind::host || row.kind == profiling::Kind::operation;
    TallyCounts& counts = rows[key];
    counts.calls += row.statistics.calls;
    counts.errors += row.statistics.errors;
    if (row.kind != profiling::Kind::device) counts.bytes += is_timed ? row.statistics.bytes : row.statistics.total;
  }
  return rows;
}

/// One line per row that differs; empty if the tallies are equal.
inline std::string difference(const std::map<std::string, TallyCounts>& expected,
                              const std::map<std::string, TallyCounts>& recorded) {
  std::ostringstream text;
  const auto show = [&](const TallyCounts& row) {
    text << row.calls << " calls, " << row.errors << " errors, " << row.bytes << " bytes";
  };
  std::map<std::string, std::pair<TallyCounts, TallyCounts>> both;
  for (const auto& [key, row] : expected) both[key].first = row;
  for (const auto& [key, row] : recorded) both[key].second = row;
  for (const auto& [key, rows] : both) {
    if (rows.first == rows.second) continue;
    text << key << ": expected ";
    show(rows.first);
    text << "; recorded ";
    show(rows.second);
    text << '\n';
  }
  return text.str();
}

}  // namespace tutti::test

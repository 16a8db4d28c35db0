#include "faults/campaign/ranks/rank_report.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>

namespace tutti::test::campaign {

std::int64_t shared_clock_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

RankReport::RankReport(const char* path) noexcept : file_(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  if (file_ >= 0) return;
  std::perror(path);
  std::_Exit(2);
}

void RankReport::line(std::string_view kind, std::string_view text) const noexcept {
  std::array<char, 4096> buffer;
  char* at = std::to_chars(buffer.data(), buffer.data() + 32, shared_clock_ns()).ptr;
  const auto append = [&](std::string_view part) {
    const auto room = static_cast<std::size_t>(buffer.data() + buffer.size() - 1 - at);
    for (const char c : part.substr(0, room)) *at++ = c == '\n' ? ' ' : c;
  };
  append(" ");
  append(kind);
  append(" ");
  append(text);
  *at++ = '\n';
  (void)!write(file_, buffer.data(), static_cast<std::size_t>(at - buffer.data()));
}

void RankReport::line(std::string_view kind, std::int64_t number) const noexcept {
  std::array<char, 32> digits;
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  line(kind, {digits.data(), static_cast<std::size_t>(end - digits.data())});
}

RankTrace::RankTrace(const std::string& path) {
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    // A line that is still being written has no end yet.
    if (file.eof()) break;
    ReportLine line;
    std::istringstream words(text);
    if (!(words >> line.time_ns >> line.kind)) {
      // The lines of a backtrace have no time.
      lines_.push_back({0, "stack", text});
      continue;
    }
    words.get();
    std::getline(words, line.text);
    lines_.push_back(std::move(line));
  }
}

const ReportLine* RankTrace::find(std::string_view kind) const noexcept {
  const auto line = std::ranges::find(lines_, kind, &ReportLine::kind);
  return line == lines_.end() ? nullptr : &*line;
}

const ReportLine* RankTrace::find_last(std::string_view kind) const noexcept {
  const auto line = std::find_if(lines_.rbegin(), lines_.rend(), [&](const ReportLine& l) { return l.kind == kind; });
  return line == lines_.rend() ? nullptr : &*line;
}

std::optional<ReportedError> RankTrace::error() const {
  const ReportLine* line = find("error");
  if (line == nullptr) return std::nullopt;
  ReportedError error{.time_ns = line->time_ns, .code = {}, .members = {}, .message = {}};
  std::istringstream words(line->text);
  std::string stage;
  std::string members;
  words >> error.code >> stage >> members;
  error.in_setup = stage == "setup";
  std::istringstream list(members);
  for (std::string rank; std::getline(list, rank, ',');) error.members.push_back(std::atoi(rank.c_str()));
  words.get();
  std::getline(words, error.message);
  return error;
}

pid_t RankTrace::pid() const noexcept {
  const ReportLine* line = find("start");
  return line == nullptr ? -1 : std::atoi(line->text.c_str());
}

}  // namespace tutti::test::campaign

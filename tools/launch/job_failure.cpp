#include "launch/job_failure.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cctype>

#include "command.hpp"
#include "text/text.hpp"

namespace tutti::tools {

void JobFailure::reported(int rank, std::string_view text) {
  if (!failure_.empty()) return;
  failure_ = text;
  rank_ = rank;
}

void JobFailure::heard(std::string_view bytes) {
  // The last line that contains a letter: launchers draw frames around their messages.
  for (const std::string& line : split(bytes, '\n')) {
    if (std::ranges::any_of(line, [](unsigned char c) { return std::isalpha(c) != 0; })) last_error_ = trim(line);
  }
}

std::string JobFailure::status(const JobEnd& end) const {
  // If a rank ended without a report, the failure may be the report of a peer that lost it.
  const bool is_known = WIFEXITED(end.wait_status) && WEXITSTATUS(end.wait_status) == kExitFailure;
  const bool ended_silently = end.rank >= 0 && end.rank != rank_ && !is_known;
  if (!failure_.empty() && !ended_silently) return "failed: " + failure_;
  if (end.rank >= 0 && WIFSIGNALED(end.wait_status)) return concat("crashed: signal ", WTERMSIG(end.wait_status));
  if (end.rank >= 0) return concat("exited with ", WEXITSTATUS(end.wait_status));
  return end.message.empty() ? "ended without a result" : end.message;
}

std::string JobFailure::note(const JobEnd& end) const {
  // The last line of standard error helps only without a rank's own report; after a crash it is part of a back trace.
  return failure_.empty() && !WIFSIGNALED(end.wait_status) ? last_error_ : std::string();
}

}  // namespace tutti::tools

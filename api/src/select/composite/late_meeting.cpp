#include "select/composite/late_meeting.hpp"

#include <charconv>
#include <optional>

namespace tutti {
namespace {

// A key is written once. So the first verdict counts: that of rank 0 to go on, or that of any rank not to.
constexpr std::string_view kVerdict = "verdict";
constexpr std::string_view kGo = "go";

std::string key_of(int rank) { return "came." + std::to_string(rank); }

[[noreturn]] void throw_verdict(const std::string& text) {
  int code = 0;
  const char* end = text.data() + text.size();
  const char* rest = std::from_chars(text.data(), end, code).ptr;
  throw Error(static_cast<ErrorCode>(code), std::string(rest == end ? rest : rest + 1, end));
}

}  // namespace

bool LateMeeting::came(int rank) const { return rendezvous_.find(key_of(rank)).has_value(); }

void LateMeeting::decide() {
  while (next_ < rendezvous_.size() && came(next_)) ++next_;
  if (next_ < rendezvous_.size()) return;
  try {
    rendezvous_.put(kVerdict, kGo);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_usage) throw;  // else a rank was faster to call it off
  }
}

bool LateMeeting::all_came() {
  if (have_met_ || rendezvous_.size() == 1) return true;
  if (!is_announced_) {
    rendezvous_.put(key_of(rendezvous_.rank()), {});
    is_announced_ = true;
  }
  if (rendezvous_.rank() == 0) decide();
  if (const std::optional<std::string> verdict = rendezvous_.find(kVerdict)) {
    if (*verdict != kGo) throw_verdict(*verdict);
    have_met_ = true;
  } else if (const std::vector<int> lost = rendezvous_.lost(); !lost.empty()) {
    const Error error(ErrorCode::peer_failure, "rank " + std::to_string(lost.front()) + " was lost");
    (void)call_off(error);
    throw Error(error);
  }
  return have_met_;
}

bool LateMeeting::call_off(const Error& cause) noexcept {
  try {
    rendezvous_.put(kVerdict, std::to_string(static_cast<int>(cause.code())) + " " + cause.what());
    return true;
  } catch (const Error& error) {
    return error.code() != ErrorCode::invalid_usage;  // without a store nobody can go on
  } catch (...) {
    return true;
  }
}

std::string LateMeeting::missing() const {
  std::string ranks;
  for (int rank = 0; rank < rendezvous_.size(); ++rank) {
    if (!came(rank)) ranks += (ranks.empty() ? "rank " : ", ") + std::to_string(rank);
  }
  return ranks;
}

}  // namespace tutti

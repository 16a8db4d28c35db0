#include "common/identifier.hpp"

#include <charconv>
#include <numeric>
#include <optional>
#include <vector>

#include "tutti/error.hpp"

namespace tutti::common {
namespace {

constexpr std::string_view kFailed = "failed";

/// An error as text: "-code vendor_code backend message". A success is "+value".
std::string pack(const Error& error) {
  return "-" + std::to_string(static_cast<int>(error.code())) + " " + std::to_string(error.vendor_code()) + " " +
         error.backend() + " " + error.what();
}

Error unpack(std::string_view text) {
  const auto word = [&text] {
    const std::size_t end = text.find(' ');
    const std::string_view result = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return result;
  };
  const auto number = [&word]<typename T>(T value) {
    const std::string_view digits = word();
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  };
  text.remove_prefix(1);
  const auto code = static_cast<ErrorCode>(number(0));
  const std::int64_t vendor_code = number(std::int64_t{0});
  const std::string backend(word());
  return Error(code, std::string(text), backend, vendor_code);
}

/// The error that `step` throws, if any.
std::optional<Error> outcome_of(const std::function<void()>& step) {
  try {
    step();
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return Error(ErrorCode::system, error.what());
  }
}

/// Whether the error is that a peer died or is late, so that the peers must not be waited for.
bool is_about_peers(const Error& error) noexcept {
  return error.code() == ErrorCode::peer_failure || error.code() == ErrorCode::timeout;
}

/// Rendezvous in which members see that the step of another has failed, before they ask for its outcome.
Rendezvous alarm_of(const Rendezvous& rendezvous, std::string_view name) {
  std::vector<int> all(static_cast<std::size_t>(rendezvous.size()));
  std::iota(all.begin(), all.end(), 0);
  return rendezvous.subset(all, name);
}

void raise(const Rendezvous& alarm) {
  try {
    alarm.put(kFailed, {});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_usage) throw;  // another member was first
  }
}

}  // namespace

std::string share_identifier(const Rendezvous& rendezvous, std::string_view name,
                             const std::function<std::string()>& make) {
  std::string mine;
  if (rendezvous.rank() == 0) {
    const auto error = outcome_of([&] { mine = "+" + make(); });
    if (error) mine = pack(*error);
  }
  const std::string shared = rendezvous.broadcast(name, mine, 0);
  if (shared.front() == '+') return shared.substr(1);
  // The process that serves the store must stay until all members have read the error.
  rendezvous.barrier(name);
  throw unpack(shared);
}

void run_together(const Rendezvous& rendezvous, std::string_view name,
                  const std::function<void(const CheckOthers& check_others)>& step) {
  const Rendezvous alarm = alarm_of(rendezvous, name);
  bool has_withdrawn = false;
  const CheckOthers check_others = [&] {
    if (!alarm.find(kFailed)) return;
    has_withdrawn = true;
    throw Error(ErrorCode::peer_failure, "another rank has failed");
  };
  auto error = outcome_of([&] { step(check_others); });
  if (has_withdrawn) error.reset();  // the error is another rank's
  // An error about a dead or late peer raises no alarm: the others would ask for the outcome of that peer and wait.
  if (error && !is_about_peers(*error)) raise(alarm);
  // One key per member: a member that cannot wait for the others leaves its outcome and goes.
  const auto outcome_of_rank = [&](int rank, const std::string& mine) {
    return rendezvous.broadcast(std::string(name) + "." + std::to_string(rank), mine, rank);
  };
  const std::string mine = outcome_of_rank(rendezvous.rank(), error ? pack(*error) : "+");
  if (error && is_about_peers(*error)) throw Error(*error);
  std::string ranks;
  std::optional<Error> first;
  int failed = 0;
  for (int rank = 0; rank < rendezvous.size(); ++rank) {
    const std::string outcome = rank == rendezvous.rank() ? mine : outcome_of_rank(rank, {});
    if (outcome.front() == '+') continue;
    ranks += (failed++ == 0 ? "" : ", ") + std::to_string(rank);
    if (!first) first = unpack(outcome);
  }
  if (!first) return;
  if (!is_about_peers(*first)) rendezvous.barrier(name);  // as in share_identifier()
  // If only this rank failed, it throws its own error unchanged.
  if (error && failed == 1) throw Error(*error);
  throw Error(first->code(), std::string(failed == 1 ? "on rank " : "on ranks ") + ranks + ": " + first->what(),
              first->backend(), first->vendor_code());
}

}  // namespace tutti::common

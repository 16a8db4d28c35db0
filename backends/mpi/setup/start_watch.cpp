#include "setup/start_watch.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <vector>

#include "tutti/spi/thread.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::mpi {
namespace {

/// Interval between two looks for ranks that have not come yet.
constexpr int kGlanceMs = 50;
constexpr const char* kInit = "starting MPI";

std::string place(const Launch& launch) {
  return "on rank " + std::to_string(launch.rank) + " of " + std::to_string(launch.size) + " (mpi)";
}

std::string list_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  }
  return text;
}

}  // namespace

StartWatch::StartWatch(const Launch& launch, std::optional<std::chrono::nanoseconds> timeout)
    : launch_(launch),
      timeout_(timeout),
      calls_(std::string(kInit) + " " + place(launch)),
      siblings_(launch, launcher_key()),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread_ = spi::start_thread("tutti-mpi", [this] { serve(); });
}

StartWatch::~StartWatch() {
  is_over_.store(true);
  const std::uint64_t one = 1;
  if (wake_ && write(wake_.get(), &one, sizeof one) != sizeof one) wake_.reset();  // it looks again soon
  thread_.join();
}

std::optional<Error> StartWatch::find_failure(int patience_ms) {
  std::vector<Siblings::Ended> ended;
  {
    const std::scoped_lock lock(mutex_);
    ended = siblings_.wait(wake_.get(), patience_ms);
  }
  const auto time = std::chrono::steady_clock::now() - begin_;
  // Other ranks end soon after the timeout, too: because of the rank that has not come.
  const bool is_nearly_late = !is_started_.load() && timeout_ && time >= *timeout_ - *timeout_ / 10;
  if (!ended.empty() && !(is_nearly_late && has_unseen())) {
    std::string text;
    for (const Siblings::Ended& one : ended) {
      text += (text.empty() ? "rank " : ", rank ") + std::to_string(one.rank) + " (pid " + std::to_string(one.pid) +
              ") has ended";
    }
    return Error(ErrorCode::peer_failure, text + " while the ranks of the job were meeting", "mpi");
  }
  if (!ended.empty() || (!is_started_.load() && timeout_ && time >= *timeout_)) return late(kInit);
  return std::nullopt;
}

bool StartWatch::has_unseen() const {
  const std::scoped_lock lock(mutex_);
  return siblings_.can_see() && !siblings_.unseen().empty();
}

void StartWatch::serve() {
  while (!is_over_.load()) {
    try {
      const std::optional<Error> cause = find_failure(kGlanceMs);
      if (cause) return calls_.end(*cause, is_over_);
    } catch (const std::exception&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kGlanceMs));  // out of memory: the next look tries again
    }
  }
}

Error StartWatch::late(const std::string& step) const {
  std::string absent;
  const std::scoped_lock lock(mutex_);
  const std::vector<int> unseen = siblings_.unseen();
  if (siblings_.can_see() && !unseen.empty()) {
    absent = list_of(unseen) + (unseen.size() == 1 ? " has" : " have") + " not called world() on this host";
  }
  return late_start(launch_, *timeout_, step, absent);
}

Error late_start(const Launch& launch, std::chrono::nanoseconds timeout, const std::string& step,
                 const std::string& absent) {
  return {ErrorCode::timeout,
          "rank " + std::to_string(launch.rank) + " of " + std::to_string(launch.size) + " waited " +
              format_duration(timeout) + " (TUTTI_RENDEZVOUS_TIMEOUT) for the other ranks of the MPI job (" + step +
              "); " + (absent.empty() ? std::string("a rank has failed, or does not create its communicator") : absent),
          "mpi"};
}

}  // namespace tutti::mpi

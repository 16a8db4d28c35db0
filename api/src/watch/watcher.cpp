#include "watch/watcher.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "tutti/spi/home_process.hpp"
#include "tutti/spi/process_exit.hpp"
#include "tutti/spi/thread.hpp"
#include "watch/watched_ranks.hpp"

namespace tutti::detail::watcher {
namespace {

/// Interval between two looks at the ranks.
constexpr std::chrono::milliseconds kGlance(250);

/// The same while the process exits.
constexpr std::chrono::milliseconds kExitGlance(10);

/// The thread and the communicators that it watches.
class Watcher {
 public:
  void add(CommunicatorState& state) {
    auto ranks = std::make_unique<WatchedRanks>(state);
    const std::scoped_lock lock(mutex_);
    watched_.push_back(std::move(ranks));
    if (is_running_) return;
    try {
      spi::start_thread("tutti-watch", [this] { serve(); }).detach();
      is_running_ = true;
    } catch (...) {
      watched_.pop_back();
      throw;
    }
  }

  void remove(CommunicatorState& state) noexcept {
    std::unique_lock lock(mutex_);
    std::erase_if(watched_, [&](const auto& ranks) { return &ranks->state() == &state; });
    if (!watched_.empty()) return;
    // The thread is gone when the last communicator is: nothing is left behind at the end of the process.
    changed_.notify_all();
    ended_.wait(lock, [this] { return !is_running_ || !watched_.empty(); });
  }

  [[nodiscard]] WatchedRanks::Others at_exit() noexcept {
    using Others = WatchedRanks::Others;
    const std::scoped_lock lock(mutex_);
    Others others = Others::have_left;
    for (const auto& ranks : watched_) others = std::max(others, ranks->at_exit());
    return others;
  }

  [[nodiscard]] bool is_of_this_process() const noexcept { return home_.is_here(); }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (!watched_.empty()) {
      const auto now = std::chrono::steady_clock::now();
      for (const auto& ranks : watched_) ranks->look(now);
      changed_.wait_for(lock, kGlance);
    }
    is_running_ = false;
    ended_.notify_all();
  }

  spi::HomeProcess home_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable ended_;
  std::vector<std::unique_ptr<WatchedRanks>> watched_;
  bool is_running_ = false;
};

/// That of this process; a forked child has none of its parent's threads and gets one of its own. Never destroyed:
/// communicators in static storage use it while the process ends.
Watcher& this_process() {
  static std::mutex mutex;
  static Watcher* instance = nullptr;
  const std::scoped_lock lock(mutex);
  if (instance == nullptr || !instance->is_of_this_process()) instance = new Watcher;
  return *instance;
}

}  // namespace

void add(CommunicatorState& state) { this_process().add(state); }

void remove(CommunicatorState& state) noexcept { this_process().remove(state); }

bool ranks_follow_at_exit() noexcept {
  while (true) {
    const WatchedRanks::Others others = this_process().at_exit();
    if (others != WatchedRanks::Others::stay) return others == WatchedRanks::Others::have_left;
    std::this_thread::sleep_for(kExitGlance);
  }
}

}  // namespace tutti::detail::watcher

bool tutti::spi::ranks_follow_at_exit() noexcept { return detail::watcher::ranks_follow_at_exit(); }

#include "select/composite/pending_thread.hpp"

#include <algorithm>
#include <chrono>

#include "tutti/spi/thread.hpp"

namespace tutti::spi {

namespace {

constexpr std::chrono::microseconds kBetweenPolls{20};

}  // namespace

PendingThread::PendingThread(const PendingList& list, const BackendCommunicator& but) {
  const auto is_other = [&but](const LeafPending* one) { return &one->leaf() != &but; };
  if (std::ranges::none_of(list.all(), is_other)) return;
  thread_ = start_thread("tutti-leaves", [this, &list, is_other] {
    while (!stops_.load(std::memory_order_relaxed)) {
      for (LeafPending* one : list.all()) {
        if (is_other(one)) one->poll_itself();
      }
      std::this_thread::sleep_for(kBetweenPolls);
    }
  });
}

PendingThread::~PendingThread() {
  stops_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

}  // namespace tutti::spi

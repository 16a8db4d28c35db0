#pragma once

#include <atomic>
#include <thread>

#include "select/composite/leaf_pending.hpp"

namespace tutti::spi {

/// Goes on with the pending operations of all leaves but one in a thread, while its owner is in a blocking call of that
/// one. Without such operations there is no thread. The list must not change meanwhile.
class PendingThread {
 public:
  PendingThread(const PendingList& list, const BackendCommunicator& but);
  /// Ends the thread.
  ~PendingThread();
  PendingThread(const PendingThread&) = delete;
  PendingThread& operator=(const PendingThread&) = delete;

 private:
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

}  // namespace tutti::spi

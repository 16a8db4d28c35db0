#pragma once

#include <compare>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

#include "ccl_channel_worker.hpp"
#include "channel/ccl_interface.hpp"
#include "tutti/operation.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti::ccl {

/// send and recv. oneCCL's own need a queue of Level Zero, also for host memory (without one they crash); a message is
/// therefore a broadcast on a communicator of its two ranks. There is one per direction and kind of memory, made when
/// it is first needed, with a worker of its own: messages on different ways pass at the same time, those on one way
/// keep their order.
class Messages {
 public:
  Messages(const Interface& interface, CreationLock& creation, const Rendezvous& rendezvous)
      : interface_(interface), creation_(creation), rendezvous_(rendezvous) {}

  /// The end of the way of a send or recv.
  [[nodiscard]] ChannelWorker& end_of(const Operation& operation) { return ends_[way_of(operation)]; }
  /// What its worker is to carry out; owns what it needs. `workspace`: null for host memory.
  [[nodiscard]] Worker::Work work(const Operation& operation, std::shared_ptr<Workspace> workspace = nullptr);

 private:
  struct Way {
    int from;
    int to;
    bool sends;  ///< tells the two ends of a message to oneself apart

    friend auto operator<=>(const Way&, const Way&) = default;
  };
  /// Where the two ends of a message to oneself meet.
  struct Counter {
    std::mutex mutex;
    std::condition_variable changed;
    const Operation* offered = nullptr;
  };
  [[nodiscard]] Way way_of(const Operation& operation) const noexcept;
  [[nodiscard]] Worker::Work work_on_self(const Operation& operation, std::shared_ptr<Workspace> workspace) const;

  const Interface& interface_;
  CreationLock& creation_;
  Rendezvous rendezvous_;
  std::map<Way, ChannelWorker> ends_;
  std::shared_ptr<Counter> self_ = std::make_shared<Counter>();
};

}  // namespace tutti::ccl

#pragma once

#include <compare>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

#include "ccl_channel.hpp"
#include "ccl_lane.hpp"
#include "tutti/operation.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti::ccl {

/// send and recv. oneCCL's own need a SYCL queue, also for host memory (without one they crash); a message is therefore
/// a broadcast on a communicator of its two ranks. There is one per direction, made when it is first needed, with a
/// lane of its own: messages on different ways pass at the same time, those on one way keep their order.
class Messages {
 public:
  Messages(const Api& api, Turns& turns, const Rendezvous& rendezvous)
      : api_(api), turns_(turns), rendezvous_(rendezvous) {}

  /// The lane of a send or recv.
  [[nodiscard]] Lane& lane(const Operation& operation);
  /// What it is to carry out; owns what it needs.
  [[nodiscard]] Lane::Work work(const Operation& operation);

 private:
  struct Way {
    int from;
    int to;
    bool sends;  ///< tells the two ends of a message to oneself apart

    friend auto operator<=>(const Way&, const Way&) = default;
  };
  /// One end of a way. The channel is made by the first message, on the lane.
  struct End {
    Lane lane;
    std::shared_ptr<std::unique_ptr<Channel>> channel = std::make_shared<std::unique_ptr<Channel>>();
  };
  /// Where the two ends of a message to oneself meet.
  struct Counter {
    std::mutex mutex;
    std::condition_variable changed;
    const Operation* offered = nullptr;
  };
  [[nodiscard]] Way way_of(const Operation& operation) const noexcept;
  [[nodiscard]] Lane::Work work_on_self(const Operation& operation) const;

  const Api& api_;
  Turns& turns_;
  Rendezvous rendezvous_;
  std::map<Way, End> ends_;
  std::shared_ptr<Counter> self_ = std::make_shared<Counter>();
};

}  // namespace tutti::ccl

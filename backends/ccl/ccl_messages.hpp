#pragma once

#include <compare>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ccl_channel_worker.hpp"
#include "channel/ccl_interface.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::ccl {

/// send and recv. oneCCL's own need a Level Zero queue even for host memory (without one they crash), so a message is a
/// broadcast on a communicator of its two ranks. There is one communicator per direction and kind of memory, created
/// when it is first needed, with a worker of its own: messages of different directions pass concurrently, those of one
/// direction keep their order.
class Messages {
 public:
  Messages(const Interface& interface, CreationLock& creation_lock, const Rendezvous& rendezvous)
      : interface_(interface), creation_lock_(creation_lock), rendezvous_(rendezvous) {}

  /// The worker and channel for a send or recv.
  [[nodiscard]] ChannelWorker& end_of(const Operation& operation) { return ends_[way_of(operation)]; }
  /// The work for that worker; it owns what it uses. `workspace` is null for host memory.
  [[nodiscard]] Worker::Work work(const Operation& operation, std::shared_ptr<Workspace> workspace = nullptr);
  /// Moves the channels to `channels`, for whoever destroys them. No operation may follow.
  void take_channels(std::vector<std::shared_ptr<void>>& channels) {
    for (auto& [way, end] : ends_) channels.push_back(std::move(end.channel));
  }

 private:
  struct Way {
    int from;
    int to;
    bool sends;  ///< distinguishes the two ends of a message from a rank to itself

    friend auto operator<=>(const Way&, const Way&) = default;
  };
  /// Meeting point of the send and the recv of a message from a rank to itself.
  struct Counter {
    std::mutex mutex;
    std::condition_variable changed;
    const Operation* offered = nullptr;
  };
  [[nodiscard]] Way way_of(const Operation& operation) const noexcept;
  [[nodiscard]] Worker::Work work_on_self(const Operation& operation, std::shared_ptr<Workspace> workspace) const;

  const Interface& interface_;
  CreationLock& creation_lock_;
  Rendezvous rendezvous_;
  std::map<Way, ChannelWorker> ends_;
  std::shared_ptr<Counter> self_ = std::make_shared<Counter>();
};

}  // namespace tutti::ccl

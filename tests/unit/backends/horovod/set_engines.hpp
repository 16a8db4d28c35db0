#pragma once

#include <unistd.h>

#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "engine/set_engine.hpp"
#include "tutti/config.hpp"
#include "tutti/spi/nested.hpp"

/// Engines of process sets without a communicator around them, over the native engine.
namespace tutti::horovod {

/// Told about each operation of the inner backend.
using Watcher = std::function<void(const Operation&)>;

/// Shows the operations of the inner backend, and hides some of its capabilities.
class Watched final : public spi::ForwardingCommunicator {
 public:
  Watched(std::unique_ptr<spi::BackendCommunicator> inner, const spi::Capabilities& capabilities, Watcher watcher)
      : ForwardingCommunicator(std::move(inner), capabilities), watcher_(std::move(watcher)) {}

 private:
  std::unique_ptr<spi::PendingOperation> do_start(const Operation& operation) override {
    if (watcher_) watcher_(operation);
    return inner().start(operation);
  }

  Watcher watcher_;
};

/// The engine of one rank; `meeting` tells rank and size, which `options` need not have.
inline SetEngine make_set_engine(const Rendezvous& meeting, SetEngine::Options options, Watcher watcher = {},
                                 const spi::Capabilities& capabilities = spi::Capabilities::all()) {
  const Config config;
  spi::Peers peers;
  peers.rank = meeting.rank();
  peers.size = meeting.size();
  peers.hosts.assign(static_cast<std::size_t>(peers.size), "host");
  peers.pids.assign(static_cast<std::size_t>(peers.size), getpid());
  options.controller.rank = peers.rank;
  options.controller.size = peers.size;
  std::vector<int> members(static_cast<std::size_t>(peers.size));
  std::iota(members.begin(), members.end(), 0);
  const Rendezvous for_control = meeting.subset(members, "control");
  const Rendezvous for_data = meeting.subset(members, "data");
  auto control = spi::create_backend("native", {.config = config, .rendezvous = for_control, .peers = peers});
  auto data = std::make_unique<Watched>(
      spi::create_backend("native", {.config = config, .rendezvous = for_data, .peers = peers}), capabilities,
      std::move(watcher));
  return {std::move(control), std::move(data), meeting.subset(members, "departure"), options};
}

/// A tensor to be added up in place.
inline EntryPointer allreduce_entry(const std::string& name, std::vector<float>& data) {
  auto entry = std::make_shared<Entry>();
  entry->request.name = name;
  entry->request.type = DataType::float32;
  entry->request.shape = {static_cast<std::int64_t>(data.size())};
  entry->operation.type = DataType::float32;
  entry->operation.count = data.size();
  entry->operation.input = data.data();
  entry->operation.output = data.data();
  return entry;
}

}  // namespace tutti::horovod

#pragma once

#include <memory>

#include "ccl_worker.hpp"
#include "channel/ccl_channel.hpp"
#include "channel/ccl_workspace.hpp"

namespace tutti::ccl {

/// A worker, and the workspaces and the channel that its calls use. The first call creates the channel. The calls share
/// ownership of it, because one of them may be left behind.
struct ChannelWorker {
  Worker worker;
  Workspaces workspaces;
  std::shared_ptr<std::unique_ptr<Channel>> channel = std::make_shared<std::unique_ptr<Channel>>();
};

}  // namespace tutti::ccl

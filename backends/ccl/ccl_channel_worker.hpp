#pragma once

#include <memory>

#include "ccl_worker.hpp"
#include "channel/ccl_channel.hpp"
#include "channel/ccl_workspace.hpp"

namespace tutti::ccl {

/// A worker and what the calls on it use. The channel is made by the first of them; it is shared with the calls, one of
/// which may have to be left behind.
struct ChannelWorker {
  Worker worker;
  Workspaces workspaces;
  std::shared_ptr<std::unique_ptr<Channel>> channel = std::make_shared<std::unique_ptr<Channel>>();
};

}  // namespace tutti::ccl

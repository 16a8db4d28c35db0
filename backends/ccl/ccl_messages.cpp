#include "ccl_messages.hpp"

#include <array>
#include <utility>

namespace tutti::ccl {

Messages::Way Messages::way_of(const Operation& operation) const noexcept {
  const bool sends = operation.kind == OpKind::send;
  const int self = rendezvous_.rank();
  return {sends ? self : operation.root, sends ? operation.root : self, sends};
}

Worker::Work Messages::work(const Operation& operation, std::shared_ptr<Workspace> workspace) {
  if (workspace == nullptr) workspace = std::make_shared<Workspace>();
  if (operation.root == rendezvous_.rank()) return work_on_self(operation, std::move(workspace));
  const Way way = way_of(operation);
  return [operation, way, channel = ends_[way].channel, &interface = interface_, &creation_lock = creation_lock_,
          rendezvous = rendezvous_, workspace = std::move(workspace)] {
    if (*channel == nullptr) {
      const std::array members = {way.from, way.to};
      const char* const name = workspace->is_host() ? "ccl.message" : "ccl.device_message";
      *channel = interface.make_channel(creation_lock, rendezvous.subset(members, name), *workspace);
    }
    (*channel)->carry_out(operation, *workspace);
  };
}

Worker::Work Messages::work_on_self(const Operation& operation, std::shared_ptr<Workspace> workspace) const {
  return [operation, counter = self_, workspace = std::move(workspace)] {
    std::unique_lock lock(counter->mutex);
    if (operation.kind == OpKind::send) {
      counter->offered = &operation;
      counter->changed.notify_all();
      counter->changed.wait(lock, [&] { return counter->offered == nullptr; });
      return;
    }
    counter->changed.wait(lock, [&] { return counter->offered != nullptr; });
    workspace->copy(operation.output, counter->offered->input, operation.block_bytes());
    workspace->settle();
    counter->offered = nullptr;
    counter->changed.notify_all();
  };
}

}  // namespace tutti::ccl

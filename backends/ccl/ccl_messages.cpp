#include "ccl_messages.hpp"

#include <array>

#include "tutti/error.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::ccl {

Messages::Way Messages::way_of(const Operation& operation) const noexcept {
  const bool sends = operation.kind == OpKind::send;
  const int self = rendezvous_.rank();
  return {sends ? self : operation.root, sends ? operation.root : self, sends};
}

Lane& Messages::lane(const Operation& operation) { return ends_[way_of(operation)].lane; }

Lane::Work Messages::work(const Operation& operation) {
  if (operation.root == rendezvous_.rank()) return work_on_self(operation);
  const Way way = way_of(operation);
  return [operation, way, channel = ends_[way].channel, &api = api_, &turns = turns_, rendezvous = rendezvous_] {
    if (*channel == nullptr) {
      const std::array members = {way.from, way.to};
      *channel = std::make_unique<Channel>(api, turns, rendezvous.subset(members, "ccl.message"));
    }
    (*channel)->carry_out(operation);
  };
}

Lane::Work Messages::work_on_self(const Operation& operation) const {
  return [operation, counter = self_] {
    std::unique_lock lock(counter->mutex);
    if (operation.kind == OpKind::send) {
      counter->offered = &operation;
      counter->changed.notify_all();
      counter->changed.wait(lock, [&] { return counter->offered == nullptr; });
      return;
    }
    counter->changed.wait(lock, [&] { return counter->offered != nullptr; });
    spi::copy(operation.output, counter->offered->input, operation.block_bytes(), false);
    counter->offered = nullptr;
    counter->changed.notify_all();
  };
}

}  // namespace tutti::ccl

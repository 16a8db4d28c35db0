#include "process_group.hpp"

#include <utility>

#include "meeting.hpp"
#include "tensors.hpp"
#include "tutti/error.hpp"

namespace tutti::torch_adapter {
namespace {

/// Calls that are still pending at the end get this long; a call for which another rank does not come would keep the
/// program for the whole timeout of the group.
constexpr auto kDrainTimeout = std::chrono::seconds(5);

}  // namespace

ProcessGroup::ProcessGroup(c10d::Store& store, int rank, int size, std::chrono::milliseconds timeout,
                           const std::string& name)
    : C10dBase(rank, size),
      collectives_(meet(store, rank, size, timeout), {.config = {}, .name = name}),
      messages_(collectives_.duplicate(name + " messages")),
      timeout_(timeout) {
  init();
}

ProcessGroup::~ProcessGroup() { close(); }

void ProcessGroup::close() noexcept {
  if (queue_ == nullptr) return;
  if (!queue_->drain(kDrainTimeout)) collectives_.abort();
  if (!lane_->drain(kDrainTimeout)) messages_.abort();
  queue_.reset();
  lane_.reset();
}

std::chrono::milliseconds ProcessGroup::timeout_or_default(std::chrono::milliseconds timeout) const {
  return timeout.count() > 0 ? timeout : timeout_;
}

ProcessGroup::WorkPointer ProcessGroup::start(Call call, const Tensors& inputs, const Tensors& results,
                                              std::chrono::milliseconds timeout, Body body) {
  if (queue_ == nullptr) throw Error(ErrorCode::invalid_usage, "the process group was shut down");
  auto work = c10::make_intrusive<TensorWork>(getRank(), call.type, call.title, inputs, results);
  work->set_queue(queue_);
  ++calls_;
  queue_->add(work, [body = std::move(body), limit = timeout_or_default(timeout)] { body(limit); });
  return work;
}

ProcessGroup::WorkPointer ProcessGroup::barrier(const c10d::BarrierOptions& options) {
  return start(
      {c10d::OpType::BARRIER, "tutti:barrier"}, {}, {}, options.timeout,
      [group = collectives_](std::chrono::nanoseconds timeout) { group.barrier({.timeout = timeout}).wait(); });
}

void ProcessGroup::monitoredBarrier(const c10d::BarrierOptions& options, bool /*wait_all_ranks*/) {
  barrier(options)->wait();
}

ProcessGroup::WorkPointer ProcessGroup::start_message(Call call, Tensors& tensors, int tag,
                                                      std::function<Work(const Buffer&, const CallOptions&)> body) {
  if (lane_ == nullptr) throw Error(ErrorCode::invalid_usage, "the process group was shut down");
  if (tag != 0) {
    throw Error(ErrorCode::unsupported, "the tag " + std::to_string(tag) +
                                            " of a message is not served: messages between two ranks match in the "
                                            "order of the calls; leave the tag out");
  }
  at::Tensor& tensor = only_tensor(tensors, "the message");
  const bool receives = call.type == c10d::OpType::RECV;
  const at::Tensor flat = receives ? space_for(tensors) : packed(tensors);
  auto work = c10::make_intrusive<TensorWork>(getRank(), call.type, call.title, tensors,
                                              receives ? Tensors{tensor} : Tensors{});
  lane_->add(
      work,
      [flat, body = std::move(body), timeout = timeout_] {
        return body(moved(flat), {.async = true, .timeout = timeout});
      },
      [flat, tensors, receives] {
        if (receives) unpack(flat, tensors);
      });
  return work;
}

ProcessGroup::WorkPointer ProcessGroup::send(Tensors& tensors, int peer, int tag) {
  return start_message({c10d::OpType::SEND, "tutti:send"}, tensors, tag,
                       [group = messages_, peer](const Buffer& data, const CallOptions& options) {
                         return group.send(data, peer, options);
                       });
}

ProcessGroup::WorkPointer ProcessGroup::recv(Tensors& tensors, int peer, int tag) {
  return start_message({c10d::OpType::RECV, "tutti:recv"}, tensors, tag,
                       [group = messages_, peer](const Buffer& data, const CallOptions& options) {
                         return group.recv(data, peer, options);
                       });
}

ProcessGroup::WorkPointer ProcessGroup::recvAnysource(Tensors& /*tensors*/, int /*tag*/) {
  throw Error(ErrorCode::unsupported, "recv() from any rank is not served; name the rank with src=");
}

#if TORCH_VERSION_MAJOR >= 2
void ProcessGroup::abort() {
  collectives_.abort();
  messages_.abort();
}
#endif

}  // namespace tutti::torch_adapter

#include "channel/ccl_c_channel.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "bridge/ccl_capture.hpp"
#include "channel/ccl_c_types.hpp"
#include "tutti/error.hpp"

namespace tutti::ccl {
namespace {

// Operations that only move data are passed as bytes, because the C interface lacks some types.
constexpr int kBytes = *c_datatype(DataType::uint8);

/// Guards a map of the plug-in, in which it keeps the stores of all communicators without a lock. Never destroyed:
/// communicators in static storage use it after static destructors have run.
std::timed_mutex& stores_mutex() {
  static auto* mutex = new std::timed_mutex;
  return *mutex;
}

/// A thread that holds the mutex to create a communicator has already met all its members, so it is soon done. If it
/// takes longer than this, a member has died.
constexpr std::chrono::seconds kTimeToDestroy(10);

}  // namespace

CChannel::CChannel(const CApi& api, CreationLock& creation_lock, const Rendezvous& rendezvous)
    : Channel(rendezvous), api_(api) {
  const auto made = [this](int code) {
    if (code != 0)
      throw Error(ErrorCode::backend_failure, "creating a communicator (ccl): " + words(code), "ccl", code);
  };
  const auto identify = [&] {
    CUniqueId id = {};
    const std::scoped_lock lock(stores_mutex());
    const Capture capture;
    made(api_.get_unique_id(&id));
    return std::string(id.data.begin(), id.data.end());
  };
  const auto join = [&](const std::string& shared) {
    CUniqueId id = {};
    std::copy_n(shared.begin(), std::min(shared.size(), id.data.size()), id.data.begin());
    const std::scoped_lock lock(stores_mutex());
    const Capture capture;
    made(api_.comm_init_rank(&handle_, static_cast<std::size_t>(size()), id, rank()));
  };
  meet(creation_lock, rendezvous, {.interface = "C", .identify = identify, .join = join});
}

CChannel::~CChannel() {
  const std::unique_lock lock(stores_mutex(), kTimeToDestroy);
  if (!lock) return;  // leaks the communicator, rather than hang
  const Capture capture;
  (void)api_.comm_destroy(handle_);
}

std::string CChannel::words(int code) const {
  const char* const details = api_.last_error(handle_);
  return details != nullptr && *details != '\0' ? details : api_.error_string(code);
}

void CChannel::fail(const Operation& operation, int code) {
  throw Error(ErrorCode::backend_failure, where(operation, rank(), size()) + ": " + words(code), "ccl", code);
}

void CChannel::do_carry_out(const Operation& operation, Workspace& workspace) {
  const int code = issue(operation, workspace);
  if (code != 0) [[unlikely]]
    fail(operation, code);
}

int CChannel::issue(const Operation& op, Workspace& workspace) {
  switch (op.kind) {
    case OpKind::allgather:
      return api_.all_gather(op.input, op.output, op.block_bytes(), kBytes, handle_, nullptr);
    case OpKind::alltoall:
      return api_.all_to_all(op.input, op.output, op.block_bytes(), kBytes, handle_, nullptr);
    case OpKind::broadcast:
      return issue_broadcast(op, op.root);
    // Messages use a channel of two ranks, of which rank 0 is the sender.
    case OpKind::send:
    case OpKind::recv:
      return issue_broadcast(op, 0);
    default:
      return issue_reduction(op, workspace);
  }
}

int CChannel::issue_reduction(const Operation& op, Workspace& workspace) {
  const int type = *c_datatype(op.type);
  const int how = *c_reduction(op.reduction);
  if (op.kind == OpKind::allreduce) {
    // oneCCL declares the input without const, but only reads it.
    return api_.all_reduce(const_cast<void*>(op.input), op.output, op.count, type, how, handle_, nullptr);
  }
  if (op.kind == OpKind::reduce_scatter) {
    return api_.reduce_scatter(op.input, op.output, op.count, type, how, handle_, nullptr);
  }
  // oneCCL needs memory for the result on all ranks.
  void* const output = rank() == op.root ? op.output : workspace.output(op.block_bytes());
  return api_.reduce(op.input, output, op.count, type, how, op.root, handle_, nullptr);
}

int CChannel::issue_broadcast(const Operation& op, int root) {
  // The root may have no output.
  void* const output = op.output != nullptr ? op.output : const_cast<void*>(op.input);
  const void* const input = rank() == root ? op.input : output;
  return api_.broadcast(input, output, op.block_bytes(), kBytes, root, handle_, nullptr);
}

}  // namespace tutti::ccl

#include "nccl_group.hpp"

#include <exception>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "nccl_error.hpp"
#include "tutti/group.hpp"

namespace tutti::nccl_adapter {
namespace {

/// The open group of a thread; inner groups are parts of it.
struct OpenGroup {
  int depth = 0;
  std::unique_ptr<GroupScope> operations;
  std::vector<std::function<void()>> creations;
  std::vector<std::vector<std::byte>> inputs;  ///< copies that operations read
  bool has_host_operation = false;
  ncclComm* stream_user = nullptr;  ///< the last communicator that was used on a stream
  ncclResult_t failure = ncclSuccess;
};
thread_local OpenGroup open;

/// Runs each function in a thread of its own: they wait for each other. Throws the first error.
void run_together(const std::vector<std::function<void()>>& functions) {
  std::vector<std::exception_ptr> errors(functions.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        functions[i]();
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

void start() {
  if (open.depth == 0) {
    open = {};
    open.operations = std::make_unique<GroupScope>();
  }
  ++open.depth;
}

/// Takes the group out of the thread, so that an error leaves none open.
OpenGroup close() {
  if (open.depth == 0) refuse_usage("ncclGroupEnd() was called without ncclGroupStart()");
  return std::exchange(open, {});
}

void end() {
  if (open.depth > 1) {
    --open.depth;
    return;
  }
  const OpenGroup group = close();
  // The text is that of the call that failed.
  if (group.failure != ncclSuccess) throw Error(ErrorCode::invalid_usage, last_error());
  if (!group.creations.empty()) run_together(group.creations);
  Work work = group.operations->end();
  if (group.has_host_operation) {
    work.wait();
  } else if (group.stream_user != nullptr) {
    group.stream_user->follow(std::move(work));
  }
}

}  // namespace

bool is_grouping() noexcept { return open.depth > 0; }

void create_in_group(std::function<void()> create) {
  if (is_grouping())
    open.creations.push_back(std::move(create));
  else
    create();
}

void note_operation(ncclComm& comm, bool has_stream) {
  if (has_stream)
    open.stream_user = &comm;
  else
    open.has_host_operation = true;
}

void keep_for_group(std::vector<std::byte> input) { open.inputs.push_back(std::move(input)); }

void note_failure(ncclResult_t result) noexcept {
  if (open.depth > 0 && open.failure == ncclSuccess) open.failure = result;
}

}  // namespace tutti::nccl_adapter

using namespace tutti::nccl_adapter;

extern "C" {

ncclResult_t ncclGroupStart() {
  return guarded([] { start(); });
}

ncclResult_t ncclGroupEnd() {
  const ncclResult_t failure = open.depth == 1 ? open.failure : ncclSuccess;
  const ncclResult_t result = guarded([] { end(); });
  return failure != ncclSuccess ? failure : result;
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* /*info*/) {
  return guarded([] {
    (void)close();
    refuse_usage("ncclGroupSimulateEnd() is not there: tutti has no model of the time; the group was discarded");
  });
}

}  // extern "C"

#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "segment.hpp"
#include "task.hpp"

/// What is behind a handle of NCCL.
struct ncclComm {
  ncclComm(const ncclUniqueId& id, int ranks, int rank, int device, bool is_blocking);
  ~ncclComm();
  ncclComm(const ncclComm&) = delete;
  ncclComm& operator=(const ncclComm&) = delete;

  /// Meets the other ranks; blocks. Sets the state.
  void join();
  /// Numbers a launch. They run in the order of their numbers, whatever streams they are on.
  [[nodiscard]] int begin_launch();
  /// Blocks until it is a launch's turn; false when the communicator was aborted.
  [[nodiscard]] bool await_turn(int launch);
  void end_launch();
  [[nodiscard]] bool is_idle();
  /// Blocks until the threads have ended; not for them.
  void end_threads();
  /// Blocks until no launch is under way.
  void await_idle();

  /// Keeps the first error.
  void fail(ncclResult_t error, const std::string& text);
  [[nodiscard]] std::string last_error();

  const int rank;
  const int ranks;
  const int device;
  const bool is_blocking;
  std::atomic<ncclResult_t> state = ncclInProgress;
  std::atomic<bool> is_aborted = false;
  std::thread joining;     ///< of one that does not block
  std::thread background;  ///< launches what comes first
  std::unique_ptr<tutti::test::fake_nccl::Segment> segment;
  std::map<int, std::pair<double, ncclDataType_t>> scaled_sums;  ///< by number of the operator
  int next_operator = ncclNumOps;
  int calls = 0;  ///< of operations

 private:
  std::string name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int launched_ = 0;
  int ended_ = 0;
  std::string last_error_;
};

namespace tutti::test::fake_nccl {

/// A handle that is in use; null, and a violation of the rules, when it is not.
[[nodiscard]] std::shared_ptr<ncclComm> find(ncclComm_t handle, const char* function);
[[nodiscard]] ncclComm_t add(std::shared_ptr<ncclComm> comm);
void remove(ncclComm_t handle);

}  // namespace tutti::test::fake_nccl

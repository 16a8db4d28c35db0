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

/// A communicator of NCCL.
struct ncclComm {
  ncclComm(const ncclUniqueId& id, int ranks, int rank, int device, bool is_blocking);
  ~ncclComm();
  ncclComm(const ncclComm&) = delete;
  ncclComm& operator=(const ncclComm&) = delete;

  /// Waits for the other ranks, then sets the state. Blocking.
  void join();
  /// Numbers a launch. Launches run in the order of their numbers, also on different streams.
  [[nodiscard]] int begin_launch();
  /// Blocks until all earlier launches have ended; false if the communicator was aborted.
  [[nodiscard]] bool await_turn(int launch);
  void end_launch();
  [[nodiscard]] bool is_idle();
  /// Blocks until the threads have ended; must not be called by one of them.
  void end_threads();
  /// Blocks until no launch is pending.
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
  std::thread joining;     ///< runs join() of a non-blocking communicator
  std::thread background;  ///< runs the first launch of a non-blocking communicator
  std::unique_ptr<tutti::test::fake_nccl::Segment> segment;
  std::map<int, std::pair<double, ncclDataType_t>> scaled_sums;  ///< by number of the operator
  int next_operator = ncclNumOps;
  int calls = 0;  ///< number of operations

 private:
  std::string name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int launched_ = 0;
  int ended_ = 0;
  std::string last_error_;
};

namespace tutti::test::fake_nccl {

/// The communicator of a handle; null, and a violation, if there is none.
[[nodiscard]] std::shared_ptr<ncclComm> find(ncclComm_t handle, const char* function);
[[nodiscard]] ncclComm_t add(std::shared_ptr<ncclComm> comm);
void remove(ncclComm_t handle);

}  // namespace tutti::test::fake_nccl

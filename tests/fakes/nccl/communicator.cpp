#include "communicator.hpp"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstdio>

#include "../cudart/fake_cudart.hpp"
#include "faults.hpp"

using namespace tutti::test::fake_nccl;

namespace {

struct Table {
  std::mutex mutex;
  std::map<ncclComm_t, std::shared_ptr<ncclComm>> comms;

  ~Table() {
    if (comms.empty()) return;
    std::fprintf(stderr, "fake NCCL: %zu communicators were never destroyed\n", comms.size());
    std::fflush(stderr);
    _exit(87);
  }
};

Table& table() {
  static Table all;
  return all;
}

}  // namespace

ncclComm::ncclComm(const ncclUniqueId& id, int all, int own, int its_device, bool blocks)
    : rank(own), ranks(all), device(its_device), is_blocking(blocks), name_(id.internal) {}

ncclComm::~ncclComm() {
  // The last owner of the communicator may be one of these threads, which cannot join itself.
  for (std::thread* thread : {&joining, &background}) {
    if (thread->joinable()) thread->detach();
  }
}

void ncclComm::end_threads() {
  for (std::thread* thread : {&joining, &background}) {
    if (thread->joinable()) thread->join();
  }
}

void ncclComm::join() {
  std::array<char, 32> address = {};
  (void)cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), device);
  if (fails_in_init(rank)) return fail(ncclSystemError, "fake NCCL: FAKE_NCCL_INIT_ERROR makes this rank fail");
  if (hangs_in_init(rank)) {
    std::fputs("fake NCCL: hangs in init\n", stderr);  // the test waits for this line
    while (!is_aborted) std::this_thread::yield();
  }
  if (is_aborted) return;
  segment = std::make_unique<Segment>("/" + name_, ranks);
  segment->join(rank, address.data());
  while (!segment->is_complete()) {
    if (is_aborted) return;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  for (int a = 0; a < ranks; ++a) {
    for (int b = 0; b < a; ++b) {
      if (segment->member(a).device != segment->member(b).device) continue;
      return fail(ncclInvalidUsage, "fake NCCL: Duplicate GPU detected : rank " + std::to_string(b) + " and rank " +
                                        std::to_string(a) + " both on CUDA device " + segment->member(a).device.data());
    }
  }
  ncclResult_t expected = ncclInProgress;
  state.compare_exchange_strong(expected, ncclSuccess);
}

int ncclComm::begin_launch() {
  const std::scoped_lock lock(mutex_);
  return ++launched_;
}

bool ncclComm::await_turn(int launch) {
  std::unique_lock lock(mutex_);
  while (ended_ + 1 != launch) changed_.wait(lock);
  return !is_aborted;
}

void ncclComm::end_launch() {
  const std::scoped_lock lock(mutex_);
  ++ended_;
  changed_.notify_all();
}

bool ncclComm::is_idle() {
  const std::scoped_lock lock(mutex_);
  return launched_ == ended_;
}

void ncclComm::await_idle() {
  std::unique_lock lock(mutex_);
  while (launched_ != ended_) changed_.wait(lock);
}

void ncclComm::fail(ncclResult_t error, const std::string& text) {
  const std::scoped_lock lock(mutex_);
  if (!last_error_.empty()) return;
  last_error_ = text;
  state = error;
}

std::string ncclComm::last_error() {
  const std::scoped_lock lock(mutex_);
  return last_error_;
}

namespace tutti::test::fake_nccl {

std::shared_ptr<ncclComm> find(ncclComm_t handle, const char* function) {
  Table& all = table();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.comms.find(handle);
  if (found != all.comms.end()) return found->second;
  fake_cuda_violation((std::string(function) + " got an NCCL communicator that does not exist").c_str());
  return nullptr;
}

ncclComm_t add(std::shared_ptr<ncclComm> comm) {
  Table& all = table();
  const std::scoped_lock lock(all.mutex);
  ncclComm_t const handle = comm.get();
  all.comms[handle] = std::move(comm);
  return handle;
}

void remove(ncclComm_t handle) {
  Table& all = table();
  const std::scoped_lock lock(all.mutex);
  all.comms.erase(handle);
}

}  // namespace tutti::test::fake_nccl

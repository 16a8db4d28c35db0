// Failures of NCCL, on the fakes of CUDA and NCCL: ranks are threads with a GPU each, or processes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <set>
#include <thread>
#include <tutti/cuda.hpp>
#include <tutti/tutti.hpp>

#include "expect_error.hpp"
#include "fakes/cudart/fake_cuda_test_base.hpp"
#include "support/rank_threads.hpp"
#include "support/system/shared_memory.hpp"
#include "support/system/subprocess.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kCount = 1000;

// Selects the fakes for this process and its children.
const int cuda_chosen = setenv("TUTTI_CUDA_LIBRARY", TUTTI_TEST_CUDA_LIBRARY, 1);  // NOLINT
const int nccl_chosen = setenv("TUTTI_NCCL_LIBRARY", TUTTI_TEST_NCCL_LIBRARY, 1);  // NOLINT

/// Part of the name of each file of the fake in /dev/shm.
const std::string kFake = "fake-nccl";

/// Sets an environment variable for the life of the object.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// A stream and memory that the application has on a device.
class Gpu {
 public:
  explicit Gpu(int device) {
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    EXPECT_EQ(cudaStreamCreate(&stream_), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&memory_, kCount * sizeof(float)), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(memory_, 0, kCount * sizeof(float), stream_), cudaSuccess);
  }
  ~Gpu() {
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(cudaFree(memory_), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  [[nodiscard]] Buffer buffer() const { return {static_cast<float*>(memory_), kCount}; }
  [[nodiscard]] Stream stream() const { return cuda::stream(stream_); }

 private:
  cudaStream_t stream_ = nullptr;
  void* memory_ = nullptr;
};

class NcclFaults : public FakeCudaTest {
 protected:
  NcclFaults() : before_(shared_memory(kFake)) {}
  void TearDown() override {
    FakeCudaTest::TearDown();
    EXPECT_EQ(left_in_shared_memory(before_, kFake), std::set<std::string>());
  }

  static RankOptions options() {
    return {.communicator = {.config = Config().set("TUTTI_BACKEND", "nccl")}, .deadline = 60s};
  }
  static void on_ranks(int size, const std::function<void(const Communicator&)>& body) {
    EXPECT_EQ("", describe(run_ranks(size, body, options())));
  }
  /// The error text of each rank when the ranks create a communicator; empty for a rank without an error.
  static std::vector<std::string> creation_errors(int size) {
    std::vector<std::string> texts(static_cast<std::size_t>(size));
    const std::vector<Rendezvous> meetings = local_rendezvous(size);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          const Rendezvous& meeting = meetings[static_cast<std::size_t>(rank)];
          const Communicator comm(meeting, options().communicator);
        } catch (const Error& error) {
          texts[static_cast<std::size_t>(rank)] = std::string(name(error.code())) + ": " + error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return texts;
  }

 private:
  std::set<std::string> before_;
};

void expect_words(const std::string& text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    EXPECT_NE(text.find(word), std::string::npos) << "\"" << word << "\" is not in: " << text;
  }
}

TEST_F(NcclFaults, TwoRanksOnOneGpuAreNamed) {
  for (const std::string& text : creation_errors(3)) {
    expect_words(text, {"invalid_usage", "ranks 0 and 2 are both on cuda:0", "TUTTI_DEVICE"});
  }
  const Variable device("TUTTI_DEVICE", "cuda:1");
  for (const std::string& text : creation_errors(2)) expect_words(text, {"ranks 0 and 1 are both on cuda:1"});
}

TEST_F(NcclFaults, WhatNcclSaysWhenItCannotBeginIsTold) {
  const Variable fault("FAKE_NCCL_INIT_ERROR", "0");
  for (const std::string& text : creation_errors(1)) {
    expect_words(text, {"backend_failure", "unhandled system error (fake NCCL)", "FAKE_NCCL_INIT_ERROR"});
  }
}

// NCCL refuses one call of a group and starts the others in the background: their success must not hide the refusal.
TEST_F(NcclFaults, WhatIsRefusedWithinAGroupIsTold) {
  const auto expect_refusal = [](const std::function<void(const Communicator&)>& call) {
    const Variable fault("FAKE_NCCL_CALL_ERROR", "0:2");
    on_ranks(1, [&](const Communicator& comm) {
      expect_error(ErrorCode::backend_failure, {"unhandled system error (fake NCCL)", "FAKE_NCCL_CALL_ERROR"},
                   [&] { call(comm); });
      expect_error(ErrorCode::backend_failure, {"FAKE_NCCL_CALL_ERROR"}, [&] { comm.barrier(); });
    });
  };
  expect_refusal([](const Communicator& comm) {
    std::vector<float> data(10);
    comm.group([&] {
      comm.allreduce(data);
      comm.allreduce(data);
    });
  });
  expect_refusal([](const Communicator& comm) {
    const std::vector<float> in(10);
    std::vector<float> out(10);
    comm.alltoall(in, out);  // a send and a receive
  });
}

// Without the error, the other ranks would wait for the failed rank for the whole rendezvous timeout.
TEST_F(NcclFaults, WhenItCannotBeginOnOneRankTheOthersAreToldWhich) {
  const Variable fault("FAKE_NCCL_INIT_ERROR", "1");
  const auto begin = Clock::now();
  const std::vector<std::string> texts = creation_errors(2);
  EXPECT_LT(Clock::now() - begin, 60s);
  expect_words(texts[0], {"backend_failure: on rank 1: ", "FAKE_NCCL_INIT_ERROR"});
  expect_words(texts[1], {"backend_failure: ", "FAKE_NCCL_INIT_ERROR"});
}

TEST_F(NcclFaults, AnErrorThatComesLaterEndsTheWait) {
  const Variable fault("FAKE_NCCL_ASYNC_ERROR", "1:3");
  on_ranks(2, [](const Communicator& comm) {
    const Gpu gpu(comm.rank());
    comm.allreduce(gpu.buffer(), {.stream = gpu.stream()}).wait();
    comm.allreduce(gpu.buffer(), {.stream = gpu.stream()}).wait();
    Work work = comm.allreduce(gpu.buffer(), {.stream = gpu.stream()});
    if (comm.rank() == 1) {
      expect_error(ErrorCode::peer_failure, {"allreduce", "rank 1 of 2 (nccl)", "network error", "is lost"},
                   [&] { work.wait(); });
      // The communicator stays unusable; the stream continues.
      expect_error(ErrorCode::peer_failure, {"is lost"}, [&] { comm.barrier(); });
      return;
    }
    // NCCL reports the error on rank 1 only.
    EXPECT_FALSE(work.wait_for(50ms));
    comm.abort();
    expect_error(ErrorCode::aborted, {"allreduce"}, [&] { work.wait(); });
  });
}

TEST_F(NcclFaults, AnAbortByAnotherThreadEndsTheWait) {
  on_ranks(2, [](const Communicator& comm) {
    comm.barrier();
    const Gpu gpu(comm.rank());
    if (comm.rank() == 1) return;
    Work work = comm.allreduce(gpu.buffer(), {.stream = gpu.stream()});
    std::thread other([&] {
      std::this_thread::sleep_for(30ms);
      comm.abort();
    });
    expect_error(ErrorCode::aborted, {"allreduce"}, [&] { work.wait(); });
    other.join();
    expect_error(ErrorCode::aborted, {"aborted"}, [&] { comm.barrier(); });
  });
}

TEST_F(NcclFaults, ATimeoutLetsTheStreamGoOn) {
  on_ranks(2, [](const Communicator& comm) {
    comm.barrier();
    const Gpu gpu(comm.rank());
    if (comm.rank() == 1) return;
    Work work = comm.allreduce(gpu.buffer(), {.stream = gpu.stream(), .timeout = 50ms});
    expect_error(ErrorCode::timeout, {"allreduce", "rank 0 of 2 (nccl)", "not complete after 50 ms"},
                 [&] { work.wait(); });
    // The destructor of Gpu waits for the stream.
  });
}

TEST_F(NcclFaults, AHostPointerWithAStreamIsRefused) {
  on_ranks(2, [](const Communicator& comm) {
    const Gpu gpu(comm.rank());
    std::vector<float> host(kCount);
    expect_error(ErrorCode::invalid_argument, {"input is memory that CUDA does not know", "expected memory"},
                 [&] { comm.allreduce(Buffer(host), {.stream = gpu.stream()}); });
    comm.allreduce(gpu.buffer(), {.stream = gpu.stream()}).wait();
  });
}

TEST_F(NcclFaults, AnotherRanksGpuIsRefused) {
  on_ranks(2, [](const Communicator& comm) {
    const Gpu wrong(1 - comm.rank());
    const std::string own = "is on cuda:" + std::to_string(comm.rank());
    expect_error(ErrorCode::invalid_argument, {"belongs to cuda:" + std::to_string(1 - comm.rank()), own},
                 [&] { (void)comm.allreduce(wrong.buffer(), {.stream = wrong.stream()}); });
    // The refused call was no operation, so the ranks still agree on the next one.
    const Gpu right(comm.rank());
    comm.allreduce(right.buffer(), {.stream = right.stream()}).wait();
  });
}

TEST_F(NcclFaults, RanksThatDisagreeFindOut) {
  on_ranks(2, [](const Communicator& comm) {
    std::vector<float> data(comm.rank() == 0 ? 10 : 20);
    try {
      comm.allreduce(data, {.timeout = 20s});
      ADD_FAILURE() << "an allreduce of 10 elements on rank 0 and 20 on rank 1 succeeded";
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::backend_failure || error.code() == ErrorCode::timeout) << error.what();
    }
  });
  EXPECT_NE(take_cuda_violations().find("the ranks of NCCL call different operations"), std::string::npos);
}

class NcclProcesses : public testing::Test {
 protected:
  static std::vector<Subprocess> start(int size, const std::map<std::string, std::string>& more = {}) {
    static int job = 0;
    const std::string port = std::to_string(10000 + (getpid() * 11 + job++) % 50000);
    std::vector<Subprocess> ranks;
    for (int rank = 0; rank < size; ++rank) {
      std::map<std::string, std::string> environment = {
          {"RANK", std::to_string(rank)}, {"WORLD_SIZE", std::to_string(size)}, {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", port},          {"FAKE_CUDA_DEVICES", "4"},           {"TUTTI_BACKEND", "nccl"}};
      environment.insert(more.begin(), more.end());
      ranks.emplace_back(std::vector<std::string>{TUTTI_TEST_FAULT_PROGRAM, "loop", "1"}, environment);
    }
    return ranks;
  }
};

// Rank 1 dies within an operation while the others take part in it.
TEST_F(NcclProcesses, ADeadRankIsNoticed) {
  const std::set<std::string> before = shared_memory(kFake);
  std::vector<Subprocess> ranks = start(3, {{"FAKE_NCCL_DIE", "1:6"}});
  const auto victim = ranks[1].wait(Clock::now() + 60s);
  ASSERT_TRUE(victim.has_value()) << ranks[1].output();
  EXPECT_EQ(victim->code, 128 + SIGKILL) << ranks[1].output();
  for (const std::size_t rank : {0u, 2u}) {
    const auto status = ranks[rank].wait(victim->when + 60s);
    ASSERT_TRUE(status.has_value()) << "rank " << rank << " hangs\n" << ranks[rank].output();
    EXPECT_EQ(status->code, 42) << ranks[rank].output();
    EXPECT_NE(ranks[rank].output().find("rank 1 died"), std::string::npos) << ranks[rank].output();
  }
  EXPECT_EQ(left_in_shared_memory(before, kFake), std::set<std::string>());
}

TEST_F(NcclProcesses, ARankThatDiesWhileTheyMeetIsNoticed) {
  const std::set<std::string> before = shared_memory(kFake);
  std::vector<Subprocess> ranks = start(2, {{"FAKE_NCCL_HANG_INIT", "1"}});
  ASSERT_TRUE(ranks[1].wait_for_output("fake NCCL: hangs in init", Clock::now() + 60s)) << ranks[1].output();
  ranks[1].kill(SIGKILL);
  const auto status = ranks[0].wait(Clock::now() + 60s);
  ASSERT_TRUE(status.has_value()) << "rank 0 hangs\n" << ranks[0].output();
  EXPECT_EQ(status->code, 42) << ranks[0].output();
  EXPECT_NE(ranks[0].output().find("rank 1 died"), std::string::npos) << ranks[0].output();
  EXPECT_EQ(left_in_shared_memory(before, kFake), std::set<std::string>());
}

}  // namespace
}  // namespace tutti::test

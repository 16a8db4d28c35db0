// Errors of the native engine when ranks disagree, are late, abort or leave. No rank may hang.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "native_ranks.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

// The error that the body throws on each rank; ErrorCode::ok for a rank on which it does not throw.
std::vector<Error> errors_of(int size, const NativeBody& body) {
  std::mutex mutex;
  std::vector<Error> errors(static_cast<std::size_t>(size), Error(ErrorCode::ok, "nothing was thrown"));
  EXPECT_NO_RANK_ERRORS(run_native(size, [&](NativeRank& rank) {
    const Error error = error_of([&] { body(rank); });
    const std::scoped_lock lock(mutex);
    errors[static_cast<std::size_t>(rank.rank)] = error;
  }));
  return errors;
}

bool contains(const Error& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

void barrier(NativeRank& rank, std::chrono::nanoseconds timeout = {}) {
  Operation operation = native_operation<int>(OpKind::barrier, nullptr, nullptr, 0);
  operation.timeout = timeout;
  rank.run(operation);
}

// Ranks that are threads read each other's buffers. After a call has thrown, its buffer may be freed, so no other rank
// may still read it.
TEST(NativeAbort, ABufferMayGoAsSoonAsTheCallHasThrown) {
  for (int round = 0; round < 20; ++round) {
    const std::vector<Error> errors = errors_of(3, [&](NativeRank& rank) {
      std::thread spoiler;
      if (rank.rank == 1) {
        spoiler = std::thread([&] {
          std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
          rank.communicator.abort();
        });
      }
      const Error error = error_of([&] {
        for (int i = 0; i < 100000; ++i) {
          std::vector<float> data(200000, 1.0F);
          rank.run(native_operation(OpKind::allreduce, data.data(), data.data(), data.size()));
        }
      });
      if (spoiler.joinable()) spoiler.join();
      throw error;
    });
    for (const Error& error : errors) EXPECT_EQ(error.code(), ErrorCode::aborted) << error.what();
  }
}

TEST(NativeMismatch, DifferentCountsNameBothRanks) {
  for (const std::uint64_t factor : {1U, 1000U}) {  // flat and pipelined
    const std::vector<Error> errors = errors_of(2, [&](NativeRank& rank) {
      const std::uint64_t count = (rank.rank == 0 ? 100 : 200) * factor;
      std::vector<float> data(count);
      rank.run(native_operation(OpKind::allreduce, data.data(), data.data(), count));
    });
    const std::string tail = factor == 1 ? "" : "000";
    for (const Error& error : errors) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_usage);
      EXPECT_TRUE(
          contains(error, "allreduce #1: rank 0 has 100" + tail + " float32, rank 1 has 200" + tail + " float32"))
          << error.what();
    }
  }
}

TEST(NativeMismatch, FlatAgainstPipelined) {
  const std::vector<Error> errors = errors_of(3, [&](NativeRank& rank) {
    const std::uint64_t count = rank.rank == 2 ? 1000000 : 1;
    std::vector<double> data(count);
    rank.run(native_operation(OpKind::allreduce, data.data(), data.data(), count));
  });
  for (const Error& error : errors) EXPECT_EQ(error.code(), ErrorCode::invalid_usage) << error.what();
}

TEST(NativeMismatch, DifferentOperationsNameWhatEachCalled) {
  const std::vector<Error> errors = errors_of(2, [&](NativeRank& rank) {
    std::vector<int> data(10);
    rank.run(native_operation(rank.rank == 0 ? OpKind::allreduce : OpKind::broadcast, data.data(), data.data(), 10));
    barrier(rank);  // the root of a broadcast does not wait, so it may notice the mismatch only here
  });
  EXPECT_EQ(errors[0].code(), ErrorCode::invalid_usage);
  EXPECT_TRUE(contains(errors[0], "rank 0 allreduce(sum) #1 of 10 int32")) << errors[0].what();
  EXPECT_TRUE(contains(errors[0], "rank 1 broadcast #1 of 10 int32 with root 0")) << errors[0].what();
  EXPECT_EQ(errors[1].code(), ErrorCode::invalid_usage) << errors[1].what();
}

TEST(NativeMismatch, TypeReductionRootAndPrescale) {
  const auto differ = [](const std::function<void(Operation&)>& change, OpKind kind) {
    return errors_of(2, [&](NativeRank& rank) {
      std::array<float, 4> data = {};
      Operation operation = native_operation(kind, data.data(), data.data(), 4);
      if (rank.rank == 1) change(operation);
      rank.run(operation);
      barrier(rank);
    });
  };
  for (const std::vector<Error>& errors :
       {differ([](Operation& o) { o.type = DataType::int32; }, OpKind::allgather),
        differ([](Operation& o) { o.reduction = Reduction::max; }, OpKind::allreduce),
        differ([](Operation& o) { o.prescale = 0.5; }, OpKind::allreduce),
        differ([](Operation& o) { o.root = 1; }, OpKind::reduce)}) {
    EXPECT_EQ(errors[0].code(), ErrorCode::invalid_usage) << errors[0].what();
    EXPECT_EQ(errors[1].code(), ErrorCode::invalid_usage) << errors[1].what();
  }
}

// The roots of a broadcast wait for nobody, and the other ranks for their root only: the ranks see the difference in
// the next collective in which they meet, or while they wait for long.
TEST(NativeMismatch, TwoRootsOfABroadcast) {
  for (const std::uint64_t count : {4U, 4'000'000U}) {
    const std::vector<Error> errors = errors_of(3, [&](NativeRank& rank) {
      std::vector<float> data(count);
      rank.run(native_operation(OpKind::broadcast, data.data(), data.data(), count, rank.rank == 1 ? 1 : 0));
      barrier(rank);
    });
    for (const Error& error : errors) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_usage) << error.what();
      EXPECT_TRUE(contains(error, "rank 1 broadcast #1 of " + std::to_string(count) + " float32 with root 1"))
          << error.what();
    }
  }
}

TEST(NativeMismatch, ADifferenceLongAgoIsSeen) {
  const std::vector<Error> errors = errors_of(3, [&](NativeRank& rank) {
    std::array<float, 4> data = {};
    for (int i = 0; i < 3; ++i) {
      const int root = i == 0 && rank.rank == 1 ? 1 : 0;
      rank.run(native_operation(OpKind::broadcast, data.data(), data.data(), 4, root));
    }
    barrier(rank);
  });
  for (const Error& error : errors) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_usage) << error.what();
    EXPECT_TRUE(contains(error, "rank 1")) << error.what();
  }
}

TEST(NativeMismatch, LengthsOfAPair) {
  const std::vector<Error> errors = errors_of(2, [&](NativeRank& rank) {
    std::vector<int> data(100);
    const std::array<std::uint64_t, 2> in = {3, 4};
    // Only one mismatch: with several, the one that is reported depends on timing.
    const std::array<std::uint64_t, 2> out =
        rank.rank == 0 ? std::array<std::uint64_t, 2>{3, 7} : std::array<std::uint64_t, 2>{4, 4};
    Operation operation = native_operation(OpKind::alltoallv, data.data(), data.data() + 50, 0);
    operation.input_layout.counts = in.data();
    operation.output_layout.counts = out.data();
    rank.run(operation);
    barrier(rank);
  });
  EXPECT_EQ(errors[0].code(), ErrorCode::invalid_usage);
  EXPECT_TRUE(contains(errors[0], "rank 1 sends 3 int32 to rank 0, which expects 7")) << errors[0].what();
  EXPECT_EQ(errors[1].code(), ErrorCode::invalid_usage) << errors[1].what();
}

TEST(NativeMismatch, SendAndRecv) {
  // Longer than the ring, so that the sender is still there when the receiver complains.
  const std::vector<Error> errors = errors_of(2, [&](NativeRank& rank) {
    std::vector<float> data(1500000);
    if (rank.rank == 0)
      rank.run(native_operation<float>(OpKind::send, data.data(), nullptr, 1500000, 1));
    else
      rank.run(native_operation<float>(OpKind::recv, nullptr, data.data(), 1499999, 0));
  });
  for (const Error& error : errors) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_usage);
    EXPECT_TRUE(contains(error, "rank 0 sends 1500000 float32 to rank 1, which receives 1499999 float32"))
        << error.what();
  }
}

TEST(NativeTimeout, SaysWhoWaitsForWhom) {
  std::atomic<bool> over = false;
  std::atomic<int> waiting = 0;  // rank 1 starts when ranks 0 and 3 wait, so that only rank 2 is missing
  std::barrier<> all_are_through(4);
  const std::vector<Error> errors = errors_of(4, [&](NativeRank& rank) {
    barrier(rank);
    all_are_through.arrive_and_wait();
    if (rank.rank == 2) {  // does not enter until rank 1 has timed out
      while (!over) std::this_thread::sleep_for(1ms);
      barrier(rank);
    }
    std::array<float, 100> data = {};
    const auto enter_and_wait = [&](const Operation& operation) {
      const auto pending = rank.start(operation);
      ++waiting;
      (void)pending->wait(spi::Deadline::max());
    };
    std::array<float, 40> gathered = {};
    const Operation gather = native_operation(OpKind::gather, data.data(), gathered.data(), 10, 3);
    if (rank.rank == 3) {  // waits for rank 2 in another collective
      enter_and_wait(gather);
      return;
    }
    rank.run(gather);
    Operation operation = native_operation(OpKind::allreduce, data.data(), data.data(), 100);
    if (rank.rank == 0) return enter_and_wait(operation);
    while (waiting < 2) std::this_thread::sleep_for(1ms);
    operation.timeout = 200ms;
    const Error error = error_of([&] { rank.run(operation); });
    over = true;
    throw error;
  });
  EXPECT_EQ(errors[1].code(), ErrorCode::timeout);
  EXPECT_TRUE(contains(errors[1], "rank 1 waited 200 ms in allreduce #3")) << errors[1].what();
  EXPECT_TRUE(contains(errors[1], "rank 2 has not entered, rank 3 is still in gather #2")) << errors[1].what();
  for (const Error& error : errors) EXPECT_EQ(error.code(), ErrorCode::timeout) << error.what();
}

TEST(NativeTimeout, PoisonsTheCommunicator) {
  std::atomic<bool> over = false;
  const std::vector<Error> errors = errors_of(2, [&](NativeRank& rank) {
    if (rank.rank == 1) {
      while (!over) std::this_thread::sleep_for(1ms);
      barrier(rank);
      return;
    }
    const Error first = error_of([&] { barrier(rank, 50ms); });
    EXPECT_EQ(first.code(), ErrorCode::timeout);
    const auto begin = std::chrono::steady_clock::now();
    const Error second = error_of([&] { barrier(rank); });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
    over = true;
    throw second;
  });
  for (const Error& error : errors) EXPECT_EQ(error.code(), ErrorCode::timeout) << error.what();
}

TEST(NativeTimeout, WaitGivesUpAndTheOperationGoesOn) {
  std::atomic<bool> late = false;
  EXPECT_NO_RANK_ERRORS(run_native(2, [&](NativeRank& rank) {
    if (rank.rank == 1) {
      while (!late) std::this_thread::sleep_for(1ms);
      barrier(rank);
      return;
    }
    const auto pending = rank.start(native_operation<int>(OpKind::barrier, nullptr, nullptr, 0));
    require(!pending->poll(), "poll() is false before rank 1 enters");
    require(!pending->wait(std::chrono::steady_clock::now() + 20ms), "wait() is false before rank 1 enters");
    late = true;
    require(pending->wait(std::chrono::steady_clock::now() + 60s), "wait() is true after rank 1 has entered");
  }));
}

TEST(NativeAbort, EndsThoseThatWait) {
  std::barrier<> all_are_through(4);
  const std::vector<Error> errors = errors_of(4, [&](NativeRank& rank) {
    barrier(rank);
    all_are_through.arrive_and_wait();
    if (rank.rank == 2) {
      std::this_thread::sleep_for(100ms);  // the other ranks should be asleep by then
      rank.communicator.abort();
    }
    barrier(rank);
  });
  for (const Error& error : errors) {
    EXPECT_EQ(error.code(), ErrorCode::aborted);
    EXPECT_TRUE(contains(error, "barrier #2")) << error.what();
    EXPECT_TRUE(contains(error, "rank 2 aborted the communicator")) << error.what();
  }
}

TEST(NativeAbort, FromAnotherThreadOfAWaitingRank) {
  const std::vector<Error> errors = errors_of(2, [&](NativeRank& rank) {
    if (rank.rank == 1) {
      std::vector<int> data(1);
      rank.run(native_operation<int>(OpKind::recv, nullptr, data.data(), 1, 0));
      return;
    }
    std::thread other([&] {
      std::this_thread::sleep_for(50ms);
      rank.communicator.abort();
    });
    const Error error = error_of([&] { barrier(rank); });
    other.join();
    throw error;
  });
  for (const Error& error : errors) EXPECT_EQ(error.code(), ErrorCode::aborted) << error.what();
}

TEST(NativeLeave, IsNotWaitedForForever) {
  std::mutex mutex;
  std::vector<std::string> messages;
  std::barrier<> both_have_it(2);  // the error of one rank would end a broadcast that the other is still in
  EXPECT_NO_RANK_ERRORS(run_native(3, [&](NativeRank& rank) {
    std::array<int, 8> data = {};
    rank.run(native_operation(OpKind::broadcast, data.data(), data.data(), 8, 2));
    if (rank.rank == 2) return;  // the others must still get its data
    both_have_it.arrive_and_wait();
    const Error error = error_of([&] { barrier(rank); });
    require(error.code() == ErrorCode::peer_failure, error.what());
    const std::scoped_lock lock(mutex);
    messages.emplace_back(error.what());
  }));
  ASSERT_EQ(messages.size(), 2U);
  for (const std::string& message : messages) {
    EXPECT_NE(message.find("rank 2 has already destroyed its communicator, rank "), std::string::npos) << message;
    EXPECT_NE(message.find(" needs it in barrier #2"), std::string::npos) << message;
  }
}

TEST(NativeLeave, WhatWasSentBeforeStillArrives) {
  EXPECT_NO_RANK_ERRORS(run_native(2, [](NativeRank& rank) {
    int value = 42;
    if (rank.rank == 0) {
      rank.run(native_operation<int>(OpKind::send, &value, nullptr, 1, 1));
      return;
    }
    std::this_thread::sleep_for(50ms);
    int got = 0;
    rank.run(native_operation<int>(OpKind::recv, nullptr, &got, 1, 0));
    require(got == 42, "the message");
    const Error error = error_of([&] { rank.run(native_operation<int>(OpKind::recv, nullptr, &got, 1, 0)); });
    require(error.code() == ErrorCode::peer_failure, error.what());
  }));
}

TEST(NativeProbe, SeveralHostsAreRefused) {
  const Config config = native_config();
  spi::Peers peers = native_peers(0, 2, false);
  EXPECT_TRUE(tutti_backend_native_module()->probe({config, &peers}).usable);
  peers.hosts[1] = "there";
  peers.same_host = false;
  const spi::Probe probe = tutti_backend_native_module()->probe({config, &peers});
  EXPECT_FALSE(probe.usable);
  EXPECT_EQ(probe.reason, "ranks are on several hosts: rank 0 on here, rank 1 on there");
  EXPECT_TRUE(tutti_backend_native_module()->probe({config, nullptr}).usable);
}

}  // namespace
}  // namespace tutti::test

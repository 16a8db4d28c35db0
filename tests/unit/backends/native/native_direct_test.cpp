// Collectives on memory that the ranks of other processes can map, and the fallback when they cannot.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "native_case.hpp"
#include "native_processes.hpp"
#include "tutti/share.hpp"
#include "tutti/spi/shared_memory.hpp"

namespace tutti::test {
namespace {

constexpr OpKind kKinds[] = {OpKind::allreduce,       OpKind::reduce,    OpKind::reduce_scatter,
                             OpKind::reduce_scatterv, OpKind::allgather, OpKind::broadcast};

void run_case(NativeRank& rank, const CaseKey& key, CaseMemory memory) {
  NativeCase one(key, rank.rank, rank.size, memory);
  rank.run(one.operation());
  one.check();
}

TEST(NativeDirect, EveryKindOnSharedMemory) {
  for (const int size : {2, 3, 7}) {
    Processes processes(size, native_config(), [](NativeRank& rank) {
      std::uint64_t seed = 0;
      for (const OpKind kind : kKinds) {
        for (const DataType type :
             {DataType::float32, DataType::bfloat16, DataType::float8_e4m3, DataType::int8, DataType::float64}) {
          for (const std::uint64_t count : {4099U, 65536U, 300007U}) {
            run_case(rank, {++seed, kind, type, count}, CaseMemory::shared);
          }
        }
      }
      return std::string(has_mapped_a_peer() ? "reached" : "not reached");
    });
    for (const std::string& said : processes.join()) EXPECT_EQ(said, "reached");
  }
}

// If one rank has ordinary memory, no rank uses the direct path.
TEST(NativeDirect, OrdinaryMemoryOfOneRankIsEnoughToGoAnotherWay) {
  Processes processes(3, native_config(), [](NativeRank& rank) {
    std::uint64_t seed = 100;
    for (int round = 0; round < 3; ++round) {
      for (const OpKind kind : kKinds) {
        const bool odd = static_cast<int>(seed % 3) == rank.rank;
        run_case(rank, {seed++, kind, DataType::float32, 70001}, odd ? CaseMemory::ordinary : CaseMemory::shared);
      }
    }
    return std::string(has_mapped_a_peer() ? "reached" : "well");
  });
  for (const std::string& said : processes.join()) EXPECT_EQ(said, "well");
}

TEST(NativeDirect, FilesThatGrowAndShrinkAreFollowed) {
  Processes processes(2, native_config(), [](NativeRank& rank) {
    std::vector<SharedArray<float>> kept;
    for (std::uint64_t i = 0; i < 12; ++i) {
      if (i % 3 == static_cast<std::uint64_t>(rank.rank)) kept.push_back(allocate<float>(100000 * (i + 1)));
      if (i == 7) kept.clear();
      run_case(rank, {200 + i, OpKind::allreduce, DataType::float32, 50000 * (i + 1)}, CaseMemory::shared);
    }
    return std::string("well");
  });
  for (const std::string& said : processes.join()) EXPECT_EQ(said, "well");
}

TEST(NativeDirect, ARankThatCannotMapOthersSendsAllAnotherWay) {
  if (!can_hide_proc()) GTEST_SKIP() << "hiding /proc needs the right to mount";
  Processes processes(3, native_config(),
                      [](NativeRank& rank) {
                        for (std::uint64_t i = 0; i < 4; ++i) {
                          run_case(rank, {300 + i, OpKind::allreduce, DataType::float32, 100003}, CaseMemory::shared);
                        }
                        return std::string("well");
                      },
                      {.prepare = [](int rank) {
                        if (rank == 2 && !hide_proc()) _exit(77);
                      }});
  for (const std::string& said : processes.join()) EXPECT_EQ(said, "well");
}

TEST(NativeDirect, BitsAreThoseOfTheRings) {
  Processes processes(3, native_config(), [](NativeRank& rank) {
    constexpr std::uint64_t kCount = 40013;
    auto input = allocate<float>(kCount);
    auto direct = allocate<float>(kCount);
    std::vector<float> rings(kCount);
    Random random(17 + static_cast<std::uint64_t>(rank.rank));
    for (float& value : input) value = 1.0F / static_cast<float>(1 + random.below(1000));
    rank.run(native_operation(OpKind::allreduce, input.data(), direct.data(), kCount));
    rank.run(native_operation(OpKind::allreduce, input.data(), rings.data(), kCount));
    const bool equal = std::memcmp(direct.data(), rings.data(), kCount * sizeof(float)) == 0;
    return std::string(equal ? "equal" : "different");
  });
  for (const std::string& said : processes.join()) EXPECT_EQ(said, "equal");
}

TEST(NativeDirect, AKilledRankIsAnErrorOnTheSurvivors) {
  Processes processes(3, native_config(), [](NativeRank& rank) {
    auto data = allocate<float>(1U << 20);
    Error error(ErrorCode::ok, "");
    while (error.code() == ErrorCode::ok) {
      error = error_of([&] { rank.run(native_operation(OpKind::allreduce, data.data(), data.data(), data.size())); });
    }
    return std::string(name(error.code()));
  });
  processes.wait_until_joined();
  std::this_thread::sleep_for(300ms);  // the ranks should be within an allreduce by then
  kill(processes.pid(1), SIGKILL);
  EXPECT_EQ(processes.join(), (std::vector<std::string>{"peer_failure", "", "peer_failure"}));
}

// After its call has thrown, rank 0 reuses its buffer: rank 1 must not write to it any more. The test stops rank 1
// repeatedly, mostly while it writes a piece.
TEST(NativeDirect, NobodyWritesAfterACallHasThrown) {
  for (int round = 0; round < 4; ++round) {
    const SharedCount calls;
    const SharedCount failed;
    Processes processes(2, native_config(), [&](NativeRank& rank) {
      auto input = allocate<float>(8U << 20);
      auto output = allocate<float>(input.size());
      Operation operation = native_operation(OpKind::allreduce, input.data(), output.data(), input.size());
      operation.timeout = 60s;
      for (int i = 0; i < 3; ++i) rank.run(operation);
      if (rank.rank == 0) operation.timeout = 100ms;
      Error error(ErrorCode::ok, "");
      while (error.code() == ErrorCode::ok) {
        calls.add();
        error = error_of([&] { rank.run(operation); });
      }
      failed.add();
      if (rank.rank == 1) return std::string(name(error.code()));
      std::ranges::fill(output, -5.0F);
      std::this_thread::sleep_for(500ms);
      const auto written = std::ranges::count_if(output, [](float value) { return value != -5.0F; });
      return std::string(name(error.code())) + ", " + std::to_string(written) + " written";
    });
    while (calls.get() < 4 && failed.get() == 0) std::this_thread::sleep_for(1ms);
    // Rank 0 times out only when it gets a core, so one stop of rank 1 may not be enough.
    while (failed.get() == 0) {
      kill(processes.pid(1), SIGSTOP);
      std::this_thread::sleep_for(200ms);
      kill(processes.pid(1), SIGCONT);
      std::this_thread::sleep_for(10ms);
    }
    EXPECT_EQ(processes.join(), (std::vector<std::string>{"timeout, 0 written", "timeout"}));
  }
}

/// Memory whose first reader waits in the middle of a read, as if its process were stopped there, until it is let go.
class Trap {
 public:
  static void set(void* data, std::size_t bytes, const SharedCount& caught, const SharedCount& released) {
    state = {data, bytes, &caught, &released};
    struct sigaction action = {};
    action.sa_handler = [](int) {
      state.caught->add();
      while (state.released->get() == 0) usleep(1000);
      mprotect(state.data, state.bytes, PROT_READ | PROT_WRITE);
    };
    sigaction(SIGSEGV, &action, nullptr);
    mprotect(data, bytes, PROT_NONE);
  }

 private:
  struct State {
    void* data;
    std::size_t bytes;
    const SharedCount* caught;
    const SharedCount* released;
  };
  inline static State state = {};
};

// Rank 1 does not leave the middle of a piece before the call of rank 0 has thrown and rank 0 uses its memory for other
// data. The rest of the piece must not reach that memory, nor other memory that rank 0 allocates.
TEST(NativeDirect, MemoryIsOutOfReachOfAPeerThatWasStoppedInAPiece) {
  const SharedCount caught;
  const SharedCount released;
  const SharedCount late_writes_are_over;
  Processes processes(2, native_config(), [&](NativeRank& rank) {
    auto input = allocate<float>(8U << 20);
    auto output = allocate<float>(input.size());
    const std::uint64_t offset = spi::shared_offset(output.data(), 1);
    Operation operation = native_operation(OpKind::allreduce, input.data(), output.data(), input.size());
    rank.run(operation);
    if (rank.rank == 1) {
      Trap::set(input.data(), input.size() * sizeof(float), caught, released);
      const Error error = error_of([&] { rank.run(operation); });
      late_writes_are_over.add();
      return std::string(name(error.code()));
    }
    operation.timeout = 200ms;
    std::unique_ptr<spi::PendingOperation> pending = rank.start(operation);
    caught.wait_for(1);  // rank 0 takes no piece meanwhile
    const Error error = error_of([&] { (void)pending->wait(spi::Deadline::max()); });
    pending.reset();
    std::ranges::fill(output, -5.0F);
    const auto fresh = allocate<float>(input.size());
    released.add();
    late_writes_are_over.wait_for(1);
    const auto written = std::ranges::count_if(output, [](float value) { return value != -5.0F; }) +
                         std::ranges::count_if(fresh, [](float value) { return value != 0.0F; });
    output = {};
    const auto next = allocate<float>(input.size());
    const bool is_reused = spi::shared_offset(next.data(), 1) == offset;
    return std::string(name(error.code())) + ", " + std::to_string(written) + " written" +
           (is_reused ? ", range used again" : "");
  });
  EXPECT_EQ(processes.join(), (std::vector<std::string>{"timeout, 0 written", "timeout"}));
}

// Ranks 0 and 1 are threads of one process, whose locks are not visible to it: rank 0 must wait for rank 1 all the
// same.
TEST(NativeDirect, ARankOfTheSameProcessIsWaitedForBesideThoseOfOthers) {
  const SharedCount caught;
  const SharedCount released;
  const auto body = [&](NativeRank& rank) {
    auto input = allocate<float>(2U << 20);
    auto output = allocate<float>(input.size());
    Operation operation = native_operation(OpKind::allreduce, input.data(), output.data(), input.size());
    rank.run(native_operation<int>(OpKind::barrier, nullptr, nullptr, 0));
    rank.run(operation);  // all memory is allocated and becomes known to all ranks here
    if (rank.rank == 1) Trap::set(input.data(), input.size() * sizeof(float), caught, released);
    if (rank.rank == 0) operation.timeout = 200ms;
    std::unique_ptr<spi::PendingOperation> pending = rank.start(operation);
    if (rank.rank != 1) caught.wait_for(1);
    const Error error = error_of([&] { (void)pending->wait(spi::Deadline::max()); });
    pending.reset();
    if (rank.rank == 2) released.add();
    return std::string(name(error.code())) + (rank.rank == 0 && released.get() == 0 ? " too early;" : ";");
  };
  Processes processes(4, native_config(), body, {.threads = 2});
  EXPECT_EQ(processes.join(), (std::vector<std::string>{"timeout;timeout;", "timeout;timeout;"}));
}

}  // namespace
}  // namespace tutti::test

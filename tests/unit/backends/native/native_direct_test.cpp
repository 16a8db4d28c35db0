// Collectives on memory that the ranks of other processes can map, and the fallback when they cannot.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "native_case.hpp"
#include "native_processes.hpp"
#include "tutti/share.hpp"
#include "tutti/spi/shared_memory.hpp"

namespace tutti::test {
namespace {

constexpr OpKind kKinds[] = {OpKind::allreduce, OpKind::reduce, OpKind::reduce_scatter, OpKind::allgather,
                             OpKind::broadcast};

// Whether this process has mapped the allocation file of another process.
bool has_mapped_a_peer() {
  const auto own = allocate<int>(1);  // makes sure that the own file is mapped and counted, too
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> files;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:tutti.allocate") == std::string::npos) continue;
    std::istringstream words(line);
    std::string range, mode, offset, device, inode;
    words >> range >> mode >> offset >> device >> inode;
    files.insert(inode);
  }
  return files.size() > 1;
}

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
        for (const DataType type : {DataType::float32, DataType::bfloat16, DataType::int8, DataType::float64}) {
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

/// Ordinary page-aligned memory of the program, filled with a pattern.
class Pages {
 public:
  explicit Pages(std::size_t bytes) : data_(static_cast<std::byte*>(std::aligned_alloc(4096, bytes))), bytes_(bytes) {
    for (std::size_t i = 0; i < bytes; ++i) data_[i] = pattern(i);
  }
  ~Pages() { std::free(data_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  [[nodiscard]] bool is_unchanged() const {
    for (std::size_t i = 0; i < bytes_; ++i) {
      if (data_[i] != pattern(i)) return false;
    }
    return true;
  }

 private:
  static std::byte pattern(std::size_t i) { return static_cast<std::byte>(i * 7 + i / 4096); }

  std::byte* data_;
  std::size_t bytes_;
};

TEST(Share, KeepsContentAndAddress) {
  const Pages pages(5 * 4096);
  {
    const SharedRegion region = share(pages.data(), pages.size());
    EXPECT_EQ(region.data(), pages.data());
    EXPECT_TRUE(pages.is_unchanged());
    EXPECT_NE(spi::shared_offset(pages.data() + 100, 4096), spi::kNotShared);
    // Reads the same memory through the file, as a peer does.
    std::byte seen{};
    const auto at = static_cast<off_t>(spi::shared_offset(pages.data() + 4097, 1));
    ASSERT_EQ(pread(spi::shared_file().descriptor, &seen, 1, at), 1);
    EXPECT_EQ(seen, pages.data()[4097]);
  }
  EXPECT_EQ(spi::shared_offset(pages.data(), 1), spi::kNotShared);
  EXPECT_TRUE(pages.is_unchanged());
}

TEST(Share, MayBeRepeatedWithoutGrowing) {
  const Pages pages(1U << 20);
  { const SharedRegion warm = share(pages.data(), pages.size()); }
  const std::uint64_t before = spi::shared_file().bytes;
  for (int i = 0; i < 20; ++i) {
    SharedRegion region = share(pages.data(), pages.size());
    const SharedRegion moved = std::move(region);
    EXPECT_EQ(region.data(), nullptr);
  }
  EXPECT_EQ(spi::shared_file().bytes, before);
  EXPECT_TRUE(pages.is_unchanged());
}

TEST(Share, OtherMemoryIsRefusedAndSaidWhy) {
  const Pages pages(3 * 4096);
  const auto refused = [](void* data, std::size_t bytes, const std::string& reason) {
    const Error error = error_of([&] { (void)share(data, bytes); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << reason;
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  };
  refused(pages.data() + 64, 4096, "4096 bytes at 0x");
  refused(pages.data(), 100, "whole pages");
  refused(pages.data(), 0, "whole pages");
  refused(nullptr, 4096, "whole pages");
  refused(pages.data(), std::size_t{1} << 45, "bytes are mapped");
  auto given = allocate<std::byte>(4096);
  refused(given.data(), 4096, "private writable memory");
  const SharedRegion region = share(pages.data(), 4096);
  refused(pages.data(), pages.size(), "private writable memory");
  void* const constant = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  refused(constant, 4096, "private writable memory");
  munmap(constant, 4096);
}

TEST(Share, OtherProcessesReachIt) {
  Processes processes(3, native_config(), [](NativeRank& rank) {
    constexpr std::size_t kCount = 1U << 18;
    const Pages pages(kCount * sizeof(float));
    auto* const data = reinterpret_cast<float*>(pages.data());
    std::fill_n(data, kCount, static_cast<float>(rank.rank + 1));
    const SharedRegion region = share(pages.data(), pages.size());
    rank.run(native_operation(OpKind::allreduce, data, data, kCount));
    for (std::size_t i = 0; i < kCount; ++i) {
      if (data[i] != 6.0F) return "wrong at " + std::to_string(i);
    }
    return std::string(has_mapped_a_peer() ? "reached" : "not reached");
  });
  for (const std::string& said : processes.join()) EXPECT_EQ(said, "reached");
}

TEST(Allocate, GivesZeroesAtAPage) {
  const auto data = allocate<double>(1000);
  ASSERT_EQ(data.size(), 1000U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data.data()) % 4096, 0U);
  for (const double value : data) ASSERT_EQ(value, 0.0);
  EXPECT_TRUE(allocate<int>(0).empty());
}

TEST(Allocate, AChildHasItsOwn) {
  auto mine = allocate<int>(1000);
  mine[0] = 1;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto theirs = allocate<int>(1000);
    const bool fresh = theirs[0] == 0 && mine[0] == 1;
    theirs[0] = 2;
    auto more = allocate<int>(1000);
    _exit(fresh && mine[0] == 1 && more[0] == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(mine[0], 1);
  auto after = allocate<int>(1000);
  EXPECT_EQ(after[0], 0);
}

TEST(Allocate, WritesOfAChildDoNotReachItsParent) {
  auto mine = allocate<int>(1U << 20);
  const Pages pages(4 * 4096);
  const SharedRegion region = share(pages.data(), pages.size());
  auto partly_detached = allocate<int>(8192);
  std::ranges::fill(mine, 7);
  std::ranges::fill(partly_detached, 8);
  ASSERT_TRUE(spi::detach_shared(partly_detached.data() + 2048, 2048 * sizeof(int)));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto holds = [](const auto& data, int value) {
      return std::ranges::all_of(data, [&](int element) { return element == value; });
    };
    const bool is_there = holds(mine, 7) && holds(partly_detached, 8) && pages.is_unchanged();
    std::ranges::fill(mine, 1);
    std::ranges::fill(partly_detached, 1);
    std::fill_n(pages.data(), pages.size(), std::byte{1});
    // Nor are they undone or shared by a child of the child.
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      const bool is_inherited = holds(mine, 1) && holds(partly_detached, 1);
      std::ranges::fill(mine, 2);
      _exit(is_inherited ? 0 : 1);
    }
    int status = -1;
    waitpid(grandchild, &status, 0);
    const bool is_kept = holds(mine, 1) && spi::shared_offset(mine.data(), 4) == spi::kNotShared;
    _exit(is_there && is_kept && status == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(std::ranges::count(mine, 7), std::ssize(mine));
  EXPECT_EQ(std::ranges::count(partly_detached, 8), std::ssize(partly_detached));
  EXPECT_TRUE(pages.is_unchanged());
}

TEST(Allocate, DetachedMemoryKeepsItsContentAndIsNotShared) {
  auto data = allocate<int>(5000);
  std::ranges::fill(data, 3);
  const std::uint64_t offset = spi::shared_offset(data.data(), 4);
  ASSERT_TRUE(spi::detach_shared(data.data(), data.size() * sizeof(int)));
  EXPECT_EQ(spi::shared_offset(data.data(), 4), spi::kNotShared);
  const int late = 9;
  ASSERT_EQ(pwrite(spi::shared_file().descriptor, &late, sizeof(late), static_cast<off_t>(offset)), 4);
  EXPECT_EQ(std::ranges::count(data, 3), std::ssize(data));
  EXPECT_TRUE(spi::detach_shared(data.data(), data.size() * sizeof(int))) << "again, by another communicator";
  EXPECT_EQ(std::ranges::count(data, 3), std::ssize(data));
  data = {};
  const auto next = allocate<int>(5000);
  EXPECT_NE(spi::shared_offset(next.data(), 4), offset);
}

TEST(Allocate, AChildThatEndsLeavesWhatIsItsParents) {
  auto mine = allocate<int>(1U << 20);
  const Pages pages(4096);
  auto region = share(pages.data(), pages.size());
  mine[7] = 7;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    mine = {};
    region = {};
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(mine[7], 7);
  EXPECT_TRUE(pages.is_unchanged());
}

TEST(Allocate, KnowsWhatItGave) {
  auto data = allocate<std::byte>(10000);
  const std::byte* begin = data.data();
  const std::uint64_t offset = spi::shared_offset(begin, 10000);
  ASSERT_NE(offset, spi::kNotShared);
  EXPECT_EQ(spi::shared_offset(begin + 17, 100), offset + 17);
  EXPECT_EQ(spi::shared_offset(begin + 10000, 4096), spi::kNotShared) << "the range ends after the allocation";
  int elsewhere = 0;
  EXPECT_EQ(spi::shared_offset(&elsewhere, sizeof(elsewhere)), spi::kNotShared);
  EXPECT_LE(offset + 10000, spi::shared_file().bytes);
  data = {};
  EXPECT_EQ(spi::shared_offset(begin, 1), spi::kNotShared);
}

TEST(Allocate, TheRoomOfWhatWasFreedIsUsedAgain) {
  { const auto warm = allocate<std::byte>(8U << 20); }
  const std::uint64_t before = spi::shared_file().bytes;
  for (int i = 0; i < 50; ++i) {
    auto data = allocate<std::byte>(8U << 20);
    ASSERT_EQ(data[0], std::byte{0}) << "the memory still holds the data of an earlier allocation";
    data[0] = std::byte{1};
  }
  EXPECT_EQ(spi::shared_file().bytes, before);
}

TEST(Allocate, MoreThanItCanRememberIsMemoryAllTheSame) {
  std::vector<SharedArray<int>> many;
  for (int i = 0; i < 1100; ++i) {
    many.push_back(allocate<int>(3));
    many.back()[2] = i;
  }
  for (int i = 0; i < 1100; ++i) ASSERT_EQ(many[static_cast<std::size_t>(i)][2], i);
  EXPECT_NE(spi::shared_offset(many.front().data(), 4), spi::kNotShared);
}

// KiB of large pages in this process's mappings of its allocation file.
std::size_t large_pages() {
  std::ifstream maps("/proc/self/smaps");
  bool ours = false;
  std::size_t total = 0;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string key;
    std::size_t value = 0;
    words >> key;
    if (key.ends_with(':')) {
      if (ours && key == "ShmemPmdMapped:" && words >> value) total += value;
    } else {
      ours = line.find("memfd:tutti.allocate") != std::string::npos;
    }
  }
  return total;
}

TEST(Allocate, TakesLargePagesWhereTheSystemHasThem) {
  std::ifstream setting("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  std::string text;
  std::getline(setting, text);
  const bool given = text.find("[advise]") != std::string::npos || text.find("[always]") != std::string::npos ||
                     text.find("[within_size]") != std::string::npos;
  if (!given) GTEST_SKIP() << "shmem_enabled does not allow large pages for shared memory: " << text;
  const auto data = allocate<std::byte>(8U << 20);
  EXPECT_GE(large_pages(), 4096U);
}

TEST(Allocate, TooMuchIsAnError) {
  for (const std::size_t count : {std::size_t{1} << 40, std::size_t{1} << 60, ~std::size_t{0}}) {
    const Error error = error_of([&] { (void)allocate<double>(count); });
    EXPECT_EQ(error.code(), ErrorCode::system);
    EXPECT_NE(std::string(error.what()).find("bytes of shared memory"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tutti::test

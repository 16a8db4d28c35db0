// The native engine between processes: both kinds of segment, killed ranks, and no files left in /dev/shm.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "native_case.hpp"
#include "native_processes.hpp"
#include "segment/layout.hpp"
#include "support/system/shared_memory.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using native::Geometry;
using native::kLine;
using native::Layout;
namespace api = native::api;

/// Whether this process has mapped a file in /dev/shm that still has a name.
bool has_findable_segment() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/dev/shm/tutti-") != std::string::npos && !line.ends_with(" (deleted)")) return true;
  }
  return false;
}

class NativeProcessRanks : public testing::TestWithParam<const char*> {};

TEST_P(NativeProcessRanks, ComputeTheSameAsThreads) {
  const std::set<std::string> before = shared_memory();
  const Config config = native_config().set("TUTTI_NATIVE_SEGMENT", GetParam());
  for (const int size : {2, 3}) {
    Processes processes(size, config, [](NativeRank& rank) {
      std::uint64_t seed = 1;
      for (const OpTraits& row : kOpTraits) {
        if (row.kind == OpKind::send || row.kind == OpKind::recv) continue;
        for (const std::uint64_t count : {0U, 3U, 1000U, 100003U}) {
          NativeCase one({++seed, row.kind, DataType::float64, count}, rank.rank, rank.size);
          rank.run(one.operation());
          one.check();
        }
      }
      return std::string(has_findable_segment() ? "a file in /dev/shm" : "well");
    });
    for (const std::string& said : processes.join()) EXPECT_EQ(said, "well");
  }
  EXPECT_EQ(left_in_shared_memory(before), std::set<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Segments, NativeProcessRanks, testing::Values("auto", "memfd", "shm"),
                         [](const auto& segment) { return std::string(segment.param); });

TEST(NativeSegment, FallsBackWhenARankCannotOpenTheMemfd) {
  const auto hide = [](int rank) {
    if (rank == 1 && !hide_proc()) _exit(77);
  };
  const auto sum = [](NativeRank& rank) {
    int mine = rank.rank + 1;
    int total = 0;
    rank.run(native_operation(OpKind::allreduce, &mine, &total, 1));
    return std::to_string(total);
  };
  if (!can_hide_proc()) GTEST_SKIP() << "hiding /proc needs the right to mount";
  const std::set<std::string> before = shared_memory();
  Processes processes(3, native_config(), sum, {.prepare = hide});
  for (const std::string& said : processes.join()) EXPECT_EQ(said, "6");
  EXPECT_EQ(left_in_shared_memory(before), std::set<std::string>());

  Processes refused(3, native_config().set("TUTTI_NATIVE_SEGMENT", "memfd"), sum, {.prepare = hide});
  for (const std::string& said : refused.join()) {
    EXPECT_TRUE(said.starts_with("error: the ranks cannot share memory; memfd: rank 1: cannot open /proc/")) << said;
  }
}

TEST(NativeProcesses, ThreadsOfSeveralProcessesAreOneGroup) {
  Processes processes(4, native_config(),
                      [](NativeRank& rank) {
                        NativeCase one({4, OpKind::allreduce, DataType::float32, 50021}, rank.rank, rank.size);
                        rank.run(one.operation());
                        one.check();
                        if (rank.rank % 2 == 1) return std::string();  // leaves, but its process must not count as dead
                        int token = 0;
                        for (int i = 0; i < 4; ++i) {
                          std::this_thread::sleep_for(60ms);  // a waiting peer checks for dead ranks within this time
                          if (rank.rank == 0)
                            rank.run(native_operation<int>(OpKind::send, &i, nullptr, 1, 2));
                          else
                            rank.run(native_operation<int>(OpKind::recv, nullptr, &token, 1, 0));
                        }
                        return std::to_string(token);
                      },
                      {.threads = 2});
  EXPECT_EQ(processes.join(), (std::vector<std::string>{"0", "3"}));
}

/// Kills a rank in the middle of a collective; returns the time until the last survivor has noticed.
std::chrono::nanoseconds time_to_notice(const char* segment) {
  const Config config = native_config().set("TUTTI_NATIVE_SEGMENT", segment);
  Processes processes(4, config, [](NativeRank& rank) {
    std::vector<float> data(16U << 20 >> 2);
    Error error(ErrorCode::ok, "");
    for (int i = 0; i < 1000000 && error.code() == ErrorCode::ok; ++i) {
      error = error_of([&] { rank.run(native_operation(OpKind::allreduce, data.data(), data.data(), data.size())); });
      if (error.code() == ErrorCode::ok) data[0] = 0;
    }
    const auto noticed = std::chrono::steady_clock::now();  // the same clock in all processes
    const Error again = error_of([&] { rank.run(native_operation<int>(OpKind::barrier, nullptr, nullptr, 0)); });
    return std::string(name(error.code())) + ": " + error.what() + "; " + std::string(name(again.code())) + " at " +
           std::to_string(noticed.time_since_epoch().count());
  });
  processes.wait_until_joined();
  std::this_thread::sleep_for(500ms);  // the ranks should be within an allreduce by then
  const auto killed = std::chrono::steady_clock::now();
  EXPECT_EQ(kill(processes.pid(2), SIGKILL), 0);
  const std::vector<std::string> said = processes.join();
  EXPECT_EQ(said[2], "");
  std::chrono::nanoseconds longest{};
  for (const int r : {0, 1, 3}) {
    const std::string& text = said[static_cast<std::size_t>(r)];
    EXPECT_TRUE(text.starts_with("peer_failure: allreduce #")) << text;
    EXPECT_NE(text.find(" of 4194304 float32 (16 MiB) on rank " + std::to_string(r) + " of 4"), std::string::npos)
        << text;
    EXPECT_NE(text.find("rank 2 died"), std::string::npos) << text;
    const std::size_t at = text.find("; peer_failure at ");
    EXPECT_NE(at, std::string::npos) << text;
    if (at == std::string::npos) continue;
    const std::chrono::nanoseconds noticed(std::stoll(text.substr(text.rfind(' '))));
    longest = std::max(longest, noticed - killed.time_since_epoch());
  }
  return longest;
}

TEST(NativeProcessFailure, AKilledRankIsAnErrorOnAllSurvivorsWithinASecond) {
  const std::set<std::string> before = shared_memory();
  for (const char* segment : {"memfd", "shm"}) {
    // A busy machine may stop a survivor for longer than a second, but hardly in five attempts.
    std::chrono::nanoseconds shortest = time_to_notice(segment);
    for (int more = 0; more < 4 && shortest >= 1s; ++more) shortest = std::min(shortest, time_to_notice(segment));
    EXPECT_LT(shortest, 1s) << segment;
  }
  EXPECT_EQ(left_in_shared_memory(before), std::set<std::string>());
}

TEST(NativeProcessFailure, ASleepingSurvivorIsToldToo) {
  Processes processes(3, native_config(), [](NativeRank& rank) {
    if (rank.rank == 1) pause();
    const Error error = error_of([&] { rank.run(native_operation<int>(OpKind::barrier, nullptr, nullptr, 0)); });
    return std::string(error.what());
  });
  processes.wait_until_joined();
  std::this_thread::sleep_for(300ms);  // the ranks should be asleep by then
  kill(processes.pid(1), SIGKILL);
  const std::vector<std::string> said = processes.join();
  EXPECT_EQ(said[0], "barrier #1 on rank 0 of 3 (native): rank 1 died (killed, crashed or ended by _exit())");
  EXPECT_EQ(said[2], "barrier #1 on rank 2 of 3 (native): rank 1 died (killed, crashed or ended by _exit())");
}

TEST(NativeProcessFailure, AnExitWithoutDestructionIsNotCalledDeath) {
  Processes processes(3, native_config(), [](NativeRank& rank) {
    if (rank.rank == 1) {
      const pid_t child = fork();
      if (child == 0) std::exit(9);  // of no effect on its parent's rank
      waitpid(child, nullptr, 0);
      std::exit(3);
    }
    const Error error = error_of([&] { rank.run(native_operation<int>(OpKind::barrier, nullptr, nullptr, 0)); });
    return std::string(error.what());
  });
  const std::vector<std::string> said = processes.join();
  for (const int rank : {0, 2}) {
    EXPECT_EQ(said[static_cast<std::size_t>(rank)],
              "barrier #1 on rank " + std::to_string(rank) +
                  " of 3 (native): rank 1 exited with code 3 without destroying its communicator");
  }
}

/// In a child that has a /dev/shm of its own with that many bytes: the text of rank 0 of two.
std::string with_small_shared_memory(const char* size) {
  std::array<int, 2> ends = {};
  if (pipe(ends.data()) != 0) throw std::runtime_error("pipe");
  const pid_t child = fork();
  if (child == 0) {
    const bool is_mounted = unshare(CLONE_NEWNS) == 0 &&
                            mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                            mount("none", "/dev/shm", "tmpfs", 0, size) == 0;
    std::string text = "skip";
    if (is_mounted) {
      Processes processes(2, native_config().set("TUTTI_NATIVE_SEGMENT", "shm"),
                          [](NativeRank&) { return std::string("joined"); });
      text = processes.join()[0];
    }
    _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text = read_all(ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

TEST(NativeSegment, FullSharedMemoryIsAnErrorThatNamesTheRemedy) {
  for (const char* size : {"size=4k", "size=64k", "size=1m"}) {
    const std::string said = with_small_shared_memory(size);
    if (said == "skip") GTEST_SKIP() << "a /dev/shm of its own needs the right to mount";
    EXPECT_TRUE(said.starts_with("error: the ranks cannot share memory; shm: rank ")) << said;
    for (const char* part : {"a communicator of 2 ranks needs ", " MiB) of shared memory in /dev/shm", "--shm-size",
                             "remount,size=", "TUTTI_NATIVE_SEGMENT_BYTES", "No space left"}) {
      EXPECT_NE(said.find(part), std::string::npos) << part << " is missing: " << said;
    }
  }
  EXPECT_EQ(with_small_shared_memory("size=64m"), "joined");
}

/// A file in /dev/shm with the name of a segment.
class SegmentName {
 public:
  explicit SegmentName(std::time_t age)
      : path_("/dev/shm/tutti-" + api::random_name()), file_(open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)) {
    const std::array<timespec, 2> times = {timespec{std::time(nullptr) - age, 0},
                                           timespec{std::time(nullptr) - age, 0}};
    if (!file_ || futimens(file_.get(), times.data()) != 0) throw std::runtime_error(path_);
  }
  ~SegmentName() { unlink(path_.c_str()); }
  SegmentName(const SegmentName&) = delete;
  SegmentName& operator=(const SegmentName&) = delete;

  [[nodiscard]] const api::FileDescriptor& file() const noexcept { return file_; }
  [[nodiscard]] bool exists() const { return access(path_.c_str(), F_OK) == 0; }

 private:
  std::string path_;
  api::FileDescriptor file_;
};

TEST(NativeSegment, NamesThatADeadJobLeftAreRemoved) {
  const SegmentName abandoned(3600);
  const SegmentName young(1);
  const SegmentName held(3600);
  ASSERT_TRUE(api::lock_byte(held.file(), 0));  // by this process; the ranks are others
  Processes processes(2, native_config().set("TUTTI_NATIVE_SEGMENT", "shm"),
                      [](NativeRank&) { return std::string("joined"); });
  EXPECT_EQ(processes.join(), (std::vector<std::string>{"joined", "joined"}));
  EXPECT_FALSE(abandoned.exists());
  EXPECT_TRUE(young.exists());
  EXPECT_TRUE(held.exists());
}

TEST(NativeProcessFailure, AbortReachesOtherProcesses) {
  Processes processes(3, native_config(), [](NativeRank& rank) {
    if (rank.rank == 1) {
      std::this_thread::sleep_for(200ms);
      rank.communicator.abort();
    }
    const Error error = error_of([&] { rank.run(native_operation<int>(OpKind::barrier, nullptr, nullptr, 0)); });
    return std::string(name(error.code()));
  });
  for (const std::string& said : processes.join()) EXPECT_EQ(said, "aborted");
}

TEST(NativeSegmentSize, StaysWithinTheBudgetUpTo64Ranks) {
  constexpr std::uint64_t kBudget = 16U << 20;
  for (const native::CacheSizes caches :
       {native::CacheSizes{512U << 10, 32U << 20}, native::CacheSizes{4U << 20, 256U << 20}}) {
    for (int ranks = 1; ranks <= 64; ++ranks) {
      const Geometry geometry = Geometry::choose(ranks, kBudget, caches);
      EXPECT_LE(Layout::bytes(geometry), kBudget) << ranks;
      for (const native::RingShape& shape : {geometry.pair, geometry.broadcast, geometry.message, geometry.self}) {
        EXPECT_GE(shape.unit, 256U) << ranks;
        EXPECT_TRUE(std::has_single_bit(shape.depth) && std::has_single_bit(shape.unit)) << ranks;
        EXPECT_GE(shape.depth, 2U) << ranks;
      }
      // The rings of messages are as long as those of the collectives where there is room.
      if (ranks == 2) EXPECT_EQ(geometry.message, geometry.pair);
    }
  }
  EXPECT_LT(Layout::bytes(Geometry::choose(1, kBudget, {512U << 10, 32U << 20})), 64U << 10);
  EXPECT_LT(Layout::bytes(Geometry::choose(2, kBudget, {512U << 10, 32U << 20})), 8U << 20);
}

// The parts must cover the segment without gaps, which would have no memory, and without overlaps, which two ranks
// would construct.
TEST(NativeSegmentParts, CoverItOnce) {
  for (const int ranks : {1, 2, 3, 7, 64}) {
    const Geometry geometry = Geometry::choose(ranks, 16U << 20, {512U << 10, 32U << 20});
    const Layout layout(nullptr, geometry);
    std::map<std::size_t, std::size_t> ends;
    const auto add = [&](const Layout::Part& part) {
      if (part.bytes == 0) return;
      EXPECT_TRUE(ends.emplace(part.offset, part.offset + part.bytes).second);
    };
    add(layout.common());
    for (int rank = 0; rank < ranks; ++rank) {
      for (const Layout::Part& part : layout.parts(rank)) add(part);
    }
    std::size_t at = 0;
    for (const auto& [begin, end] : ends) {
      EXPECT_EQ(begin, at) << ranks << " ranks";
      at = end;
    }
    EXPECT_EQ(at, Layout::bytes(geometry));
  }
}

}  // namespace
}  // namespace tutti::test

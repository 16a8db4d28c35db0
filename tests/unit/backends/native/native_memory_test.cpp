// tutti::share() and tutti::allocate(): memory that other ranks can map.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "native_processes.hpp"
#include "tutti/allocate.hpp"
#include "tutti/share.hpp"
#include "tutti/spi/shared_memory.hpp"

// As UCX's, which MPI libraries bring into a process: it loses the new address. Every test below runs with it.
extern "C" void* mremap(void* data, std::size_t before, std::size_t after, int flags, ...) noexcept {
  return reinterpret_cast<void*>(syscall(SYS_mremap, data, before, after, flags, nullptr));
}

namespace tutti::test {
namespace {

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

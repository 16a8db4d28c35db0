// Ranks of the native engine that share cores spread over all of them.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include "core_spread.hpp"
#include "native_api.hpp"
#include "segment/layout.hpp"

namespace tutti::native {
namespace {

using namespace std::chrono_literals;

int number_of(const api::CoreSet& cores) {
  int result = 0;
  for (const std::uint64_t word : cores) result += std::popcount(word);
  return result;
}

/// Four ranks on two cores, of which this thread is the third. The others only announce their cores.
class CrowdedCores : public testing::Test {
 protected:
  static constexpr int kRanks = 4;
  static constexpr int kMe = 2;
  static Geometry geometry() {
    constexpr RingShape kShape{.depth = 2, .unit = 256};
    return {
        .ranks = kRanks, .mailbox_bytes = 256, .pair = kShape, .broadcast = kShape, .message = kShape, .self = kShape};
  }

  CrowdedCores()
      : memory_(Layout::bytes(geometry()) / kLine + 1),
        layout_(reinterpret_cast<std::byte*>(memory_.data()), geometry()),
        usable_(api::usable_cores()) {
    layout_.construct();
  }
  void SetUp() override {
    if (number_of(usable_) < 2) GTEST_SKIP() << "one core";
    cpu_set_t same;
    if (sched_getaffinity(0, sizeof(same), &same) != 0 || sched_setaffinity(0, sizeof(same), &same) != 0) {
      GTEST_SKIP() << "this thread may not choose its core";
    }
    alarm(100);
  }
  void TearDown() override { alarm(0); }

  /// Announces that both lower ranks are on the core of this thread; returns that core.
  std::int32_t crowd() {
    const std::int32_t core = api::current_core();
    for (int r = 0; r < kMe; ++r) layout_.control(r).core = core;
    return core;
  }
  /// Looks often enough for a move that is not too early.
  static void look(CoreSpread& spread) {
    std::this_thread::sleep_for(3ms);
    for (int i = 0; i < 16; ++i) spread.step_apart();
  }
  [[nodiscard]] std::int32_t announced() const { return layout_.control(kMe).core; }

  struct alignas(kLine) Line {
    std::array<std::byte, kLine> bytes;
  };
  std::vector<Line> memory_;
  Layout layout_;
  api::CoreSet usable_;
};

TEST_F(CrowdedCores, LoseTheRankThatIsTooMuch) {
  CoreSpread spread(layout_, kMe, 2);
  // The system may move this thread at any time, too.
  for (bool moved = false; !moved;) {
    const std::int32_t core = crowd();
    look(spread);
    moved = announced() != core && spread.is_on_trial();
  }
  EXPECT_EQ(api::usable_cores(), usable_);
}

TEST_F(CrowdedCores, KeepARankWhereTheOtherCoresAreAsFull) {
  CoreSpread spread(layout_, kMe, 2);
  for (int i = 0; i < 20; ++i) {
    const std::int32_t core = api::current_core();
    layout_.control(0).core = core;
    layout_.control(1).core = core == 0 ? 1 : 0;
    look(spread);
    EXPECT_FALSE(spread.is_on_trial()) << "one lower rank is not too many for two ranks on each core";
  }
}

TEST_F(CrowdedCores, TakeARankBackThatMetAnotherProgram) {
  CoreSpread spread(layout_, kMe, 2);
  for (bool back = false; !back;) {
    const std::int32_t core = crowd();
    const CoreSpread::Clock::time_point before = CoreSpread::Clock::now();
    look(spread);
    if (!spread.is_on_trial() || announced() == core) continue;
    spread.judge(before, before);
    ASSERT_TRUE(spread.is_on_trial()) << "a short wait is no reason to go back";
    spread.judge(before, before + 3ms);
    EXPECT_FALSE(spread.is_on_trial());
    back = announced() == core;
  }
  EXPECT_EQ(api::usable_cores(), usable_);
}

TEST_F(CrowdedCores, KeepARankThatHadTheNewCoreForItself) {
  CoreSpread spread(layout_, kMe, 2);
  while (!spread.is_on_trial()) {
    (void)crowd();
    look(spread);
  }
  const CoreSpread::Clock::time_point later = CoreSpread::Clock::now() + 1s;
  spread.judge(later, later);
  EXPECT_FALSE(spread.is_on_trial());
}

}  // namespace
}  // namespace tutti::native

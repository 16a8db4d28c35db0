// The choice between cached and streaming stores, on a simulated machine with given store times.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

#include "segment/write_choice.hpp"

namespace tutti::native {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kChunk = 64U << 10;
constexpr std::uint64_t kMega = 1U << 20;

/// Clock that advances only with the simulated writes.
struct FakeClock {
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<FakeClock, duration>;
  static time_point now() {
    ++readings;
    return time_point(time);
  }
  static inline duration time{};
  static inline int readings = 0;
};

/// Cost of a store, indexed by how the slot was written the last time: through the caches (0) or past them (1).
struct Machine {
  std::array<double, 2> through;  // ns per byte
  std::array<double, 2> past;
};
constexpr Machine kNeighbours = {.through = {0.03, 0.05}, .past = {0.05, 0.04}};
constexpr Machine kFarAway = {.through = {0.16, 0.16}, .past = {0.05, 0.05}};

class SlotStores : public testing::Test {
 protected:
  // Writes this number of bytes, slot after slot.
  void write(std::uint64_t bytes, const Machine& machine, std::size_t chunk = kChunk) {
    for (std::uint64_t done = 0; done < bytes; done += chunk) {
      const auto store = [&](bool streaming) {
        bool& is_outside = is_outside_[next_++ % is_outside_.size()];
        const double cost = (streaming ? machine.past : machine.through)[is_outside ? 1 : 0];
        is_outside = streaming;
        auto took = std::chrono::nanoseconds(static_cast<std::int64_t>(cost * static_cast<double>(chunk)));
        if (std::exchange(is_interrupted_, false)) took += 4ms;
        FakeClock::time += took;
        (streaming ? past_ : through_) += chunk;
      };
      EXPECT_EQ(choice_.write<FakeClock>(chunk, store, [](Watch) { return MoveCost{}; }), Watch::none);
    }
  }

  WriteChoice choice_;
  std::array<bool, 4> is_outside_{};
  std::size_t next_ = 0;
  std::uint64_t through_ = 0;
  std::uint64_t past_ = 0;
  bool is_interrupted_ = false;
};

TEST_F(SlotStores, StayInTheCacheThatNeighboursShare) {
  write(1024 * kMega, kNeighbours);
  EXPECT_FALSE(choice_.streams());
  EXPECT_GT(past_, 0u) << "streaming stores were never tried";
  EXPECT_LT(past_, 1024 * kMega / 25);
}

TEST_F(SlotStores, GoPastTheCachesToReadersFarAway) {
  write(16 * kMega, kFarAway);
  EXPECT_TRUE(choice_.streams());
  through_ = 0;
  write(1024 * kMega, kFarAway);
  EXPECT_TRUE(choice_.streams());
  EXPECT_LT(through_, 1024 * kMega / 25);
}

TEST_F(SlotStores, FollowRanksThatAreMoved) {
  for (int i = 0; i < 3; ++i) {
    write(256 * kMega, kFarAway);
    EXPECT_TRUE(choice_.streams()) << i;
    write(256 * kMega, kNeighbours);
    EXPECT_FALSE(choice_.streams()) << i;
  }
}

TEST_F(SlotStores, AreNotMisledByACoreThatWasAway) {
  for (int i = 0; i < 2000; ++i) {
    is_interrupted_ = i % 7 == 0;
    write(8 * kChunk, kNeighbours);
    EXPECT_FALSE(choice_.streams()) << i;
  }
}

TEST_F(SlotStores, OfChunksLongerThanATrialAreWritten) {
  write(1024 * kMega, kFarAway, 8 * kMega);
  EXPECT_EQ(past_ + through_, 1024 * kMega);
}

/// Costs of a short chunk, in ns per byte. Stores past the caches seem cheap to the writer in both states.
struct ShortMachine {
  double write_through;
  double write_past;
  double read_through;
  double read_past;
};
constexpr ShortMachine kShortNear = {
    .write_through = 0.05, .write_past = 0.03, .read_through = 0.03, .read_past = 0.12};
constexpr ShortMachine kShortFar = {.write_through = 0.1, .write_past = 0.03, .read_through = 0.25, .read_past = 0.12};

class ShortChunks : public testing::TestWithParam<std::size_t> {
 protected:
  void move(std::uint64_t bytes, const ShortMachine& machine, bool is_read = true) {
    const std::size_t chunk = GetParam();
    const auto length = static_cast<double>(chunk);
    for (std::uint64_t done = 0; done < bytes; done += chunk) {
      bool is_past = false;
      const auto store = [&](bool streaming) {
        is_past = streaming;
        FakeClock::time += std::chrono::nanoseconds(
            static_cast<std::int64_t>((streaming ? machine.write_past : machine.write_through) * length));
        (streaming ? past_ : through_) += chunk;
      };
      const Watch watch = choice_.write<FakeClock>(chunk, store, [&](Watch way) { return reads_[index_of(way)]; });
      if (watch == Watch::none || !is_read) continue;
      reads_[index_of(watch)].add(length, (is_past ? machine.read_past : machine.read_through) * length);
    }
  }

  WriteChoice choice_;
  std::array<MoveCost, kWatched> reads_;
  std::uint64_t through_ = 0;
  std::uint64_t past_ = 0;
};

TEST_P(ShortChunks, StayInTheCacheOfNeighboursAlthoughTheOtherWaySeemsCheapToTheWriter) {
  move(1024 * kMega, kShortNear);
  EXPECT_FALSE(choice_.streams_short());
  EXPECT_GT(past_, 0U) << "the other way was never tried";
  EXPECT_LT(past_, 1024 * kMega / 100);
}

TEST_P(ShortChunks, GoPastTheCachesToReadersFarAwaySoon) {
  move(2 * kMega, kShortFar);
  EXPECT_TRUE(choice_.streams_short());
  EXPECT_FALSE(choice_.streams()) << "long chunks learn by themselves";
  through_ = 0;
  move(1024 * kMega, kShortFar);
  EXPECT_TRUE(choice_.streams_short());
  EXPECT_LT(through_, 1024 * kMega / 100);
}

TEST_P(ShortChunks, FollowRanksThatAreMoved) {
  for (int i = 0; i < 3; ++i) {
    move(80 * kMega, kShortFar);
    EXPECT_TRUE(choice_.streams_short()) << i;
    move(80 * kMega, kShortNear);
    EXPECT_FALSE(choice_.streams_short()) << i;
  }
}

TEST_P(ShortChunks, TeachNothingUntilTheyAreRead) {
  move(256 * kMega, kShortFar, false);
  EXPECT_FALSE(choice_.streams_short());
  EXPECT_EQ(choice_.short_trials().judged(), 0U);
  EXPECT_EQ(choice_.short_trials().last_through(), 0);
}

INSTANTIATE_TEST_SUITE_P(Lengths, ShortChunks, testing::Values(4U << 10, 16U << 10, 48U << 10));

TEST(WriteChoice, ChunksOfAFewLinesNeitherGoPastTheCachesNorTeach) {
  WriteChoice choice;
  FakeClock::readings = 0;
  for (int i = 0; i < 100'000; ++i) {
    const Watch watch = choice.write<FakeClock>(
        2048, [](bool streaming) { EXPECT_FALSE(streaming); }, [](Watch) { return MoveCost{}; });
    EXPECT_EQ(watch, Watch::none);
  }
  EXPECT_EQ(FakeClock::readings, 0);
}

}  // namespace
}  // namespace tutti::native

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
      choice_.write<FakeClock>(chunk, [&](bool streaming) {
        bool& is_outside = is_outside_[next_++ % is_outside_.size()];
        const double cost = (streaming ? machine.past : machine.through)[is_outside ? 1 : 0];
        is_outside = streaming;
        auto took = std::chrono::nanoseconds(static_cast<std::int64_t>(cost * static_cast<double>(chunk)));
        if (std::exchange(is_interrupted_, false)) took += 4ms;
        FakeClock::time += took;
        (streaming ? past_ : through_) += chunk;
      });
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

TEST_F(SlotStores, OfShortChunksTeachNothing) {
  FakeClock::readings = 0;
  write(256 * kMega, kFarAway, 32U << 10);
  EXPECT_EQ(FakeClock::readings, 0);
  EXPECT_EQ(past_, 0u);
}

TEST_F(SlotStores, OfShortChunksFollowTheLongOnesForAWhile) {
  write(16 * kMega, kFarAway);
  EXPECT_TRUE(choice_.streams());
  past_ = through_ = 0;
  write(16 * kMega, kFarAway, 32U << 10);
  EXPECT_EQ(past_, 16 * kMega);
  write(16 * kMega, kFarAway, 4U << 10);
  EXPECT_EQ(through_, 16 * kMega) << "a few lines are in the caches anyway";
  past_ = 0;
  write(256 * kMega, kFarAway, 32U << 10);
  EXPECT_LT(past_, 32 * kMega) << "the cores may have moved since the last trial";
}

TEST_F(SlotStores, OfChunksLongerThanATrialAreWritten) {
  write(1024 * kMega, kFarAway, 8 * kMega);
  EXPECT_EQ(past_ + through_, 1024 * kMega);
}

}  // namespace
}  // namespace tutti::native

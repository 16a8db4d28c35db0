// Number of rounds for which a waiting rank of the native engine keeps its core.
#include <gtest/gtest.h>

#include "segment/bells.hpp"

namespace tutti::native {
namespace {

/// Number of calls of wait() that keep the core.
int patience_of(Patience& patience) {
  int rounds = 0;
  int losses = 0;
  const auto wait = [&] {
    const bool stays_awake = patience.wait();
    losses += patience.has_just_lost() ? 1 : 0;
    return stays_awake;
  };
  while (wait()) ++rounds;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(wait());
  EXPECT_EQ(losses, 1) << "has_just_lost() must be true exactly once";
  return rounds;
}

TEST(Waiting, SpinsAndSleepsWhereEachRankHasACore) {
  Patience patience(false);
  const int first = patience_of(patience);
  patience.renew();
  const int second = patience_of(patience);
  EXPECT_EQ(second, first / 2) << "a wait that spinning did not end halves the spins, and there are no yields";
  patience.renew();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(patience.wait());
    patience.renew();
  }
  EXPECT_EQ(patience_of(patience), first);
}

TEST(Waiting, YieldsWhereRanksShareCores) {
  Patience patience(true);
  const int first = patience_of(patience);
  patience.renew();
  const int second = patience_of(patience);
  EXPECT_GT(second, first / 2) << "the number of yields must not change";
}

}  // namespace
}  // namespace tutti::native

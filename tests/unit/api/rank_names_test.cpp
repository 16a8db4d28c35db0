#include "call/rank_names.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

namespace tutti {
namespace {

std::string described(const std::vector<int>& job_ranks) { return describe_ranks("row", job_ranks); }

TEST(RankNames, EqualNumbersNeedNoDescription) {
  EXPECT_EQ(described({0, 1, 2}), "");
  EXPECT_EQ(described({}), "");
}

TEST(RankNames, FewRanksAreListed) {
  EXPECT_EQ(described({3}), "rank 0 of communicator row is rank 3 of the job");
  EXPECT_EQ(described({2, 5}), "ranks 0 and 1 of communicator row are ranks 2 and 5 of the job");
  EXPECT_EQ(described({1, 0, 2}), "ranks 0 to 2 of communicator row are ranks 1, 0 and 2 of the job");
}

TEST(RankNames, RegularRanksAreShort) {
  EXPECT_EQ(described({4, 5, 6, 7}), "ranks 0 to 3 of communicator row are ranks 4 to 7 of the job");
  EXPECT_EQ(described({1, 3, 5, 7}), "ranks 0 to 3 of communicator row are ranks 1 to 7 in steps of 2 of the job");
  EXPECT_EQ(described({7, 5, 3, 1}), "ranks 0 to 3 of communicator row are ranks 7 to 1 in steps of -2 of the job");
}

TEST(RankNames, ManyRanksAreShortened) {
  std::vector<int> many(1000);
  std::iota(many.begin(), many.end(), 0);
  std::swap(many[1], many[2]);
  EXPECT_LT(described(many).size(), 400U);
  EXPECT_NE(described(many).find("0, 2, 1, 3, "), std::string::npos);
}

TEST(RankNames, ADescriptionIsAddedOnce) {
  const Error error(ErrorCode::peer_failure, "rank 1 died", "native", 7);
  const Error named = with_ranks(error, described({2, 5}));
  EXPECT_STREQ(named.what(), "rank 1 died; ranks 0 and 1 of communicator row are ranks 2 and 5 of the job");
  EXPECT_EQ(named.code(), ErrorCode::peer_failure);
  EXPECT_EQ(named.backend(), "native");
  EXPECT_EQ(named.vendor_code(), 7);
  EXPECT_STREQ(with_ranks(named, described({2, 5})).what(), named.what());
  EXPECT_STREQ(with_ranks(error, "").what(), error.what());
}

}  // namespace
}  // namespace tutti

#include "sources/common/outermost_call.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace tutti::profiling {
namespace {

struct First {};
struct Second {};

TEST(OutermostCall, IsTheFirstOfItsThread) {
  EXPECT_FALSE(OutermostCall<First>::is_inside());
  {
    const OutermostCall<First> outer;
    EXPECT_TRUE(outer);
    EXPECT_TRUE(OutermostCall<First>::is_inside());
    const OutermostCall<First> inner;
    EXPECT_FALSE(inner);
    std::thread([] { EXPECT_TRUE(OutermostCall<First>()); }).join();
  }
  EXPECT_TRUE(OutermostCall<First>());
}

TEST(OutermostCall, SourcesDoNotDisturbEachOther) {
  const OutermostCall<First> outer;
  EXPECT_TRUE(OutermostCall<Second>());
}

TEST(OutermostCall, EndsWithAnException) {
  try {
    const OutermostCall<First> outer;
    throw 1;
  } catch (int) {
    EXPECT_FALSE(OutermostCall<First>::is_inside());
  }
}

}  // namespace
}  // namespace tutti::profiling

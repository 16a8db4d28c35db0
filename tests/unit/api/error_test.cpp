#include "tutti/error.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tutti {
namespace {

TEST(ErrorTest, EveryCodeHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int code = 0; code <= 10; ++code) {
    const std::string_view spelling = name(static_cast<ErrorCode>(code));
    EXPECT_NE(spelling, "unknown") << code;
    EXPECT_TRUE(names.insert(spelling).second) << spelling;
  }
  EXPECT_EQ(name(ErrorCode::ok), "ok");
  EXPECT_EQ(name(ErrorCode::peer_failure), "peer_failure");
  EXPECT_EQ(name(ErrorCode::config), "config");
}

TEST(ErrorTest, NumbersFromElsewhereAreUnknown) {
  EXPECT_EQ(name(static_cast<ErrorCode>(11)), "unknown");
  EXPECT_EQ(name(static_cast<ErrorCode>(-1)), "unknown");
}

TEST(ErrorTest, KeepsWhatItWasTold) {
  const Error error(ErrorCode::backend_failure, "it broke", "native", -7);
  EXPECT_EQ(error.code(), ErrorCode::backend_failure);
  EXPECT_EQ(std::string(error.what()), "it broke");
  EXPECT_EQ(error.backend(), "native");
  EXPECT_EQ(error.vendor_code(), -7);
}

}  // namespace
}  // namespace tutti

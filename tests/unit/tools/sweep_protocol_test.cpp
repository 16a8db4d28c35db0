// The lines between the ranks of a sweep and the command.
#include <gtest/gtest.h>

#include <string>

#include "sweep/protocol.hpp"
#include "sweep/rank/counted_calls.hpp"

namespace tutti::tools {
namespace {

TEST(SweepProtocol, LinesSurviveTheWay) {
  for (int word = 0; word <= static_cast<int>(SweepWord::failed); ++word) {
    for (const char* text : {"", "12.5 13", "rank 1: element 3 is 4 instead of 5"}) {
      const SweepMessage sent{.word = static_cast<SweepWord>(word),
                              .number = word == static_cast<int>(SweepWord::failed) ? 0U : 17U,
                              .text = text};
      const std::string line = encode(sent);
      const auto received = decode(line);
      ASSERT_TRUE(received.has_value()) << line;
      EXPECT_EQ(received->word, sent.word) << line;
      EXPECT_EQ(received->number, sent.number) << line;
      EXPECT_EQ(received->text, sent.text) << line;
    }
  }
}

TEST(SweepProtocol, OtherLinesAreNoMessages) {
  for (const char* line : {"", " ", "ok", "ok ", "ok x 1", "ok -1 1", "ok 1x 2", "ok 99999999999999999999999 1",
                           "OK 1 2", "okay 1 2", "hello world"}) {
    EXPECT_FALSE(decode(line).has_value()) << line;
  }
}

TEST(SweepProtocol, DeviceUseOfDamagedLinesIsNone) {
  const DeviceUse whole = median_device_use("3 12.5 0 5 10 0 4 11 1");
  EXPECT_EQ(whole.calls, 4U);
  EXPECT_EQ(whole.time_us, 11);
  EXPECT_TRUE(whole.is_span);
  for (const char* text : {"", "3", "3 1", "-1 2 0", "1e300 2 0", "1 -2 0", "1 2 0 x", "1 2 x", "nan 1 0"}) {
    const DeviceUse use = median_device_use(text);
    EXPECT_EQ(use.calls, 0U) << text;
    EXPECT_EQ(use.time_us, 0) << text;
  }
}

}  // namespace
}  // namespace tutti::tools

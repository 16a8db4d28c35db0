// Calls of vendor functions as the observer gets them.
#include "tutti/spi/instrument.hpp"

#include <gtest/gtest.h>

#include "support/observers/recording_observer.hpp"

namespace {

enum VendorStatus { kVendorOk = 0, kVendorUnhandled = 5 };
enum class Choice : int { none = 0, some = 3 };

}  // namespace

template <>
inline constexpr bool tutti::spi::is_result_code<Choice> = false;

namespace tutti::spi {
namespace {

using test::RecordingObserver;

template <typename Function>
VendorFunction<Function> function(std::string_view name, Function pointer) {
  VendorFunction<Function> made("vendor", name);
  made.set(pointer);
  return made;
}

int twice_failing(int value) { return 2 * value; }
VendorStatus status_of(int value) { return value == 0 ? kVendorOk : kVendorUnhandled; }
Choice choose(int) { return Choice::some; }
void nothing(int) {}

// The codes of CUDA, NCCL and Level Zero are enumerations.
TEST(VendorFunction, ReportsResultCodesOfEveryType) {
  const RecordingObserver recorder;
  EXPECT_EQ(function("twice_failing", &twice_failing)(21), 42);
  EXPECT_EQ(function("status_of", &status_of)(0), kVendorOk);
  EXPECT_EQ(function("status_of", &status_of)(1), kVendorUnhandled);
  EXPECT_EQ(function("choose", &choose)(1), Choice::some);
  function("nothing", &nothing)(1);

  const auto calls = recorder.calls();
  ASSERT_EQ(calls.size(), 5u);
  EXPECT_EQ(calls[0].error, 42);
  EXPECT_EQ(calls[1].error, 0);
  EXPECT_EQ(calls[2].error, kVendorUnhandled);
  EXPECT_EQ(calls[3].error, 0) << "an answer is not an error";
  EXPECT_EQ(calls[4].error, 0);
  EXPECT_EQ(calls[2].library, "vendor");
  EXPECT_EQ(calls[2].function, "status_of");
}

TEST(VendorFunction, CallsWithoutAnObserver) {
  EXPECT_EQ(function("twice_failing", &twice_failing)(4), 8);
  EXPECT_FALSE(VendorFunction<int (*)(int)>("vendor", "absent"));
}

}  // namespace
}  // namespace tutti::spi

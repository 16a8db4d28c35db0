// Threads of a library's own that end the process.
#include "ccl_threads.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <future>
#include <string>

namespace tutti::ccl {
namespace {

std::promise<std::string> the_failure;

class FailedThreads : public testing::Test {
 protected:
  void SetUp() override {
    void* const library = dlopen(TUTTI_TEST_FAILING_THREAD, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    fail_with_ = reinterpret_cast<void (*)(const char*)>(dlsym(library, "fail_with"));
    fail_in_thread_ = reinterpret_cast<void (*)(const char*)>(dlsym(library, "fail_in_thread"));
    ASSERT_TRUE(
        hold_failed_threads(TUTTI_TEST_FAILING_THREAD, [](const std::string& text) { the_failure.set_value(text); }));
  }
  void (*fail_with_)(const char*) = nullptr;
  void (*fail_in_thread_)(const char*) = nullptr;
};

TEST_F(FailedThreads, StandStillAndTellTheirFailure) {
  the_failure = {};
  auto text = the_failure.get_future();
  fail_in_thread_("RECV entry failed");
  EXPECT_EQ(text.get(), "RECV entry failed");
}

// A call of the program fails as it would without tutti.
TEST_F(FailedThreads, OfTheProgramEndTheProcess) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(fail_with_("a call of the program"), "a call of the program");
}

TEST(HoldFailedThreads, IsWithoutEffectOnOtherLibraries) {
  EXPECT_FALSE(hold_failed_threads("libnone.so.1", [](const std::string&) {}));
  EXPECT_FALSE(hold_failed_threads("libm.so.6", [](const std::string&) {}));
}

}  // namespace
}  // namespace tutti::ccl

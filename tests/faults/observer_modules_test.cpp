// Observer modules see all of a program that does not know them; those that cannot be used change nothing.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "expect_error.hpp"
#include "support/rank_threads.hpp"
#include "tutti/spi/observer_module.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

Config with_observers(std::string_view names) {
  return Config().set("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES).set("TUTTI_OBSERVERS", names);
}

/// Two ranks, a split and 3 operations on each rank.
void run_program(const Config& config) {
  const auto failures = run_ranks(2,
                                  [](const Communicator& comm) {
                                    std::int32_t value = 1;
                                    comm.barrier();
                                    const Communicator half = comm.split(comm.rank());
                                    half.barrier();
                                    comm.allreduce(std::span(&value, 1), std::span(&value, 1));
                                  },
                                  {.communicator = {.config = config}});
  std::fputs(describe(failures).c_str(), stderr);
  std::exit(failures.empty() ? 0 : 1);
}

// In new processes: the modules are started once per process.
class ObserverModules : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ObserverModules, SeeAProgramThatDoesNotKnowThem) {
  EXPECT_EXIT(run_program(with_observers("counting")), testing::ExitedWithCode(0),
              "counting: 4 communicators, 6 operations\n$");
}

/// A profiling session that begins in the middle of the program: 2 communicators are there, 2 operations follow.
void start_late() {
  setenv("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES, 1);
  const auto group = local_group(2);
  auto* const start_module = reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, spi::kStartObserverSymbol));
  if (start_module("absent") != 0 || start_module("counting") != 1 || start_module("counting") != 1) std::exit(1);
  const auto failures = run_ranks(group, [](const Communicator& comm) { comm.barrier(); });
  std::exit(failures.empty() ? 0 : 1);
}

TEST_F(ObserverModules, StartInTheMiddleOfAProgram) {
  EXPECT_EXIT(start_late(), testing::ExitedWithCode(0), "^counting: 2 communicators, 2 operations\n$");
}

TEST_F(ObserverModules, ThatCannotBeUsedArePassedOver) {
  EXPECT_EXIT(run_program(with_observers("absent,foreign,refusing,,counting,counting")), testing::ExitedWithCode(0),
              "^counting: 4 communicators, 6 operations\n$");
}

TEST_F(ObserverModules, NamesThatCannotBeNamesAreErrors) {
  for (const char* name : {"../counting", "a b", "counting;x", "counting.so"}) {
    expect_error(ErrorCode::config, {"TUTTI_OBSERVERS", "commas"},
                 [&] { (void)local_group(1, {.config = with_observers(name)}); });
  }
}

TEST_F(ObserverModules, AreListedWithTheReason) {
  const auto infos = observer_modules(with_observers("absent,foreign,counting"));
  ASSERT_EQ(infos.size(), 3U);
  EXPECT_NE(infos[0].reason.find("libtutti_observer_absent.so"), std::string::npos) << infos[0].reason;
  EXPECT_NE(infos[1].reason.find("999"), std::string::npos) << infos[1].reason;
  EXPECT_TRUE(infos[2].usable) << infos[2].reason;
  EXPECT_EQ(infos[2].description, "fake that counts");
  EXPECT_TRUE(observer_modules(with_observers("")).empty());
}

}  // namespace
}  // namespace tutti::test

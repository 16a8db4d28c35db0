// The ranges that a tool reads through NVTX are the operations of the program.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "support/rank_threads.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

Config with_nvtx() { return Config().set("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES).set("TUTTI_OBSERVERS", "nvtx"); }

/// On each of two ranks 1 barrier and 5 allreduces of 12 bytes, of which 2 are asynchronous and end in reverse.
void run_program(const char* listener) {
  setenv("NVTX_INJECTION64_PATH", listener, 1);
  const auto failures = run_ranks(2,
                                  [](const Communicator& comm) {
                                    std::array<std::int32_t, 3> a = {1, 2, 3};
                                    std::array<std::int32_t, 3> b = {4, 5, 6};
                                    comm.barrier();
                                    for (int round = 0; round < 3; ++round) comm.allreduce(std::span(a), std::span(a));
                                    Work first = comm.allreduce(std::span(a), std::span(a), {.async = true});
                                    Work second = comm.allreduce(std::span(b), std::span(b), {.async = true});
                                    second.wait();
                                    first.wait();
                                  },
                                  {.communicator = {.config = with_nvtx()}});
  std::fputs(describe(failures).c_str(), stderr);
  std::exit(failures.empty() ? 0 : 1);
}

// In new processes: NVTX looks for a tool once per process.
class Nvtx : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(Nvtx, RangesAreTheOperationsOfTheProgram) {
  EXPECT_EXIT(run_program(TUTTI_TEST_LISTENER), testing::ExitedWithCode(0),
              "^allreduce: 10 ranges, 120 bytes\nbarrier: 2 ranges, 0 bytes\nended: 12, open: 0, unknown: 0\n$");
}

TEST_F(Nvtx, WithoutAToolTheProgramRunsAsItIs) { EXPECT_EXIT(run_program(""), testing::ExitedWithCode(0), "^$"); }

TEST_F(Nvtx, ModuleIsFound) {
  const auto infos = observer_modules(with_nvtx());
  ASSERT_EQ(infos.size(), 1U);
  EXPECT_EQ(infos[0].description, "operations as NVTX ranges") << infos[0].reason;
}

}  // namespace
}  // namespace tutti::test

#include "sources/common/real_function.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

// As a source does: the same symbol, in front of the library's.
extern "C" __attribute__((visibility("default"))) int tutti_test_layered();

namespace tutti::profiling {
namespace {
constinit RealFunction<int (*)()> layered("tutti_test_layered");
}
}  // namespace tutti::profiling

int tutti_test_layered() {
  const auto real = tutti::profiling::layered.get(__builtin_return_address(0));
  return real == nullptr ? 1 : 10 * real();
}

namespace tutti::profiling {
namespace {

// One test: the order matters.
TEST(RealFunction, FindsALibraryOfLocalScopeOnceItIsOpen) {
  errno = ERANGE;
  EXPECT_EQ(tutti_test_layered(), 1) << "the library is not loaded yet; it must not find itself";
  EXPECT_EQ(errno, ERANGE);
  void* library = dlopen(TUTTI_TEST_LAYERED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  errno = ERANGE;
  EXPECT_EQ(tutti_test_layered(), 20);
  EXPECT_EQ(errno, ERANGE);
  EXPECT_EQ(tutti_test_layered(), 20);
}

TEST(RealFunction, FindsTheNextOfGlobalScopeFromAllThreads) {
  static constinit RealFunction<int (*)(const char*)> real("atoi");
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([] { EXPECT_EQ(real.get()("17"), 17); });
  for (std::thread& thread : threads) thread.join();
}

TEST(RealFunction, IsNullForAnUnknownSymbol) {
  static constinit RealFunction<void (*)()> real("tutti_no_such_symbol");
  EXPECT_EQ(real.get(), nullptr);
  EXPECT_EQ(real.get(reinterpret_cast<const void*>(&std::atoi)), nullptr);
}

}  // namespace
}  // namespace tutti::profiling

#include "base/interpose/real_function.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "support/system/temporary_folder.hpp"

// As a source does: the same symbol, in front of the library's.
extern "C" __attribute__((visibility("default"))) int tutti_test_layered();

namespace tutti::interpose {
namespace {
constinit RealFunction<int (*)()> layered("tutti_test_layered");
}
}  // namespace tutti::interpose

int tutti_test_layered() {
  const auto real = tutti::interpose::layered.get(__builtin_return_address(0));
  return real == nullptr ? 1 : 10 * real();
}

namespace tutti::interpose {
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

// The loader has two locks; a search that held one while it took the other would block both threads for ever.
TEST(RealFunction, IsLookedUpWhileAnotherThreadOpensLibraries) {
  const test::TemporaryFolder folder;
  const std::string copy = folder.file("libcopy.so");
  std::filesystem::copy_file(TUTTI_TEST_LAYERED_LIBRARY, copy);
  std::atomic<bool> has_ended = false;
  std::atomic<int> opened = 0;
  std::thread opener([&] {
    while (!has_ended) {
      void* library = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
      ASSERT_NE(library, nullptr) << dlerror();
      ++opened;
      dlclose(library);
    }
  });
  static constinit RealFunction<void (*)()> real("tutti_no_such_symbol");
  while (opened == 0) std::this_thread::yield();
  for (int i = 0; i < 500; ++i) EXPECT_EQ(real.get(), nullptr);
  has_ended = true;
  opener.join();
}

TEST(RealFunction, IsNullForAnUnknownSymbol) {
  static constinit RealFunction<void (*)()> real("tutti_no_such_symbol");
  EXPECT_EQ(real.get(), nullptr);
  EXPECT_EQ(real.get(reinterpret_cast<const void*>(&std::atoi)), nullptr);
}

}  // namespace
}  // namespace tutti::interpose

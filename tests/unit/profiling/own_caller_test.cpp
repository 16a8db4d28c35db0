#include "base/interpose/own_caller.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tutti/info.hpp"

namespace tutti::interpose {
namespace {

TEST(OwnCaller, NamesOfLibraries) {
  for (const char* own : {"libtutti.so", "/usr/lib/libtutti.so.0.1", "tutti/libtutti_backend_mpi.intel.so",
                          "/a b/libtutti_source_ccl.so", "libtutti-observer.so"})
    EXPECT_TRUE(is_own_library(own)) << own;
  for (const char* other : {"", "libmpi.so.12", "/opt/libtutti/libmpi.so", "libtuttifrutti.so", "/libtutti", "tutti"})
    EXPECT_FALSE(is_own_library(other)) << other;
  EXPECT_FALSE(is_own_library(nullptr));
}

TEST(OwnCaller, KnowsTheLibraryAndNotTheProgram) {
  // Through dlsym: the address of a function of another library may be the program's own stub.
  const void* own = dlsym(RTLD_DEFAULT, "_ZN5tutti7versionEv");
  ASSERT_NE(own, nullptr) << "libtutti does not export " << tutti::version();
  EXPECT_TRUE(is_own_caller(own));
  EXPECT_FALSE(is_own_caller(dlsym(RTLD_DEFAULT, "getenv")));
  static const int in_the_program = 0;
  EXPECT_FALSE(is_own_caller(&in_the_program));
  int on_the_stack = 0;
  EXPECT_FALSE(is_own_caller(&on_the_stack));
  EXPECT_FALSE(is_own_caller(nullptr));
}

TEST(OwnCaller, KnowsModulesThatWereLoadedLater) {
  void* module = dlopen(TUTTI_TEST_OWN_MODULE, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(module, nullptr) << dlerror();
  EXPECT_TRUE(is_own_caller(dlsym(module, "tutti_backend_module")));
  dlclose(module);
}

}  // namespace
}  // namespace tutti::interpose

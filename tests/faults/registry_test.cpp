// The registry lists unusable modules with the reason; they do not affect the usable ones.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "expect_error.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

Config with_modules() {
  return Config().set("TUTTI_MODULE_PATH",
                      std::string("/no/such/folder:") + TUTTI_TEST_MODULES + ":" + TUTTI_TEST_REJECTED);
}

BackendInfo info_of(std::string_view name) {
  for (const BackendInfo& info : backends(with_modules())) {
    if (info.name == name) return info;
  }
  ADD_FAILURE() << "there is no backend " << name;
  return {};
}

void expect_unusable(std::string_view name, std::initializer_list<std::string_view> words) {
  const BackendInfo info = info_of(name);
  EXPECT_FALSE(info.usable) << name;
  for (const std::string_view word : words) {
    EXPECT_NE(info.reason.find(word), std::string::npos) << "\"" << word << "\" is not in: " << info.reason;
  }
  EXPECT_NE(info.location.find("libtutti_backend_" + std::string(name)), std::string::npos) << info.location;
}

TEST(Registry, KnowsTheBuiltInEngine) {
  const BackendInfo native = info_of("native");
  EXPECT_TRUE(native.usable) << native.reason;
  EXPECT_EQ(native.location, "built in");
  EXPECT_FALSE(native.description.empty());
  EXPECT_TRUE(native.capabilities.has(OpKind::allreduce));
}

TEST(Registry, FindsModulesOfThePath) {
  const BackendInfo minimal = info_of("minimal");
  EXPECT_TRUE(minimal.usable) << minimal.reason;
  EXPECT_EQ(minimal.version, "1");
  EXPECT_NE(minimal.description.find("fake"), std::string::npos);
  EXPECT_TRUE(minimal.capabilities.has(OpKind::send));
  EXPECT_FALSE(minimal.capabilities.has(OpKind::broadcast));
  EXPECT_TRUE(can_emulate(OpKind::broadcast, minimal.capabilities));
}

// Runs in a new process, in which no code has loaded a module before.
TEST(Registry, SettingsOfModulesAreKnownFromTheStart) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto set_them = [] {
    try {
      const Config config = with_modules().set("TUTTI_NATIVE_DIRECT", "0").set("TUTTI_MINIMAL_REACHES", "no");
      std::_Exit(config.flag("TUTTI_NATIVE_DIRECT") || config.text("TUTTI_MINIMAL_REACHES") != "no" ? 1 : 0);
    } catch (const Error& error) {
      std::fputs(error.what(), stderr);
      std::_Exit(2);
    }
  };
  EXPECT_EXIT(set_them(), testing::ExitedWithCode(0), "");
}

TEST(Registry, RejectsAnotherInterfaceVersion) {
  expect_unusable("foreign_abi", {"999", std::to_string(spi::kModuleAbi)});
}

TEST(Registry, RejectsWhatIsNoModule) { expect_unusable("symbolless", {"tutti_backend_module"}); }

TEST(Registry, KeepsTheReasonOfAProbe) { expect_unusable("refusing", {"libimaginary.so.7 is not installed"}); }

TEST(Registry, SelectionPassesOverTheUnusable) {
  // "refusing" claims the highest preference of all backends.
  const auto group = local_group(2, {.config = with_modules()});
  EXPECT_EQ(group[0].backend(), "native");
  const Explanation why = group[0].explain(OpKind::allreduce);
  EXPECT_EQ(why.backend, "native");
  EXPECT_FALSE(why.emulated);
}

TEST(Registry, AskingForTheUnusableSaysWhy) {
  const auto ask = [](const char* backend) {
    return [backend] { (void)local_group(2, {.config = with_modules().set("TUTTI_BACKEND", backend)}); };
  };
  expect_error(ErrorCode::backend_unavailable, {"refusing", "libimaginary.so.7"}, ask("refusing"));
  expect_error(ErrorCode::backend_unavailable, {"foreign_abi", "999"}, ask("foreign_abi"));
  expect_error(ErrorCode::backend_unavailable, {"symbolless", "tutti_backend_module"}, ask("symbolless"));
}

TEST(Registry, NothingCanBeEmulatedFromNothing) {
  for (const OpTraits& row : kOpTraits) EXPECT_FALSE(can_emulate(row.kind, spi::Capabilities())) << row.name;
}

}  // namespace
}  // namespace tutti::test

#include "settings/common_settings.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>
#include <thread>

#include "settings/settings.hpp"
#include "tutti/error.hpp"

namespace tutti {
namespace {

/// Compares the settings of two ranks, each a thread; returns the texts of their errors, empty if there was none.
std::array<std::string, 2> compare(const Config& first, const Config& second) {
  const std::vector<Rendezvous> ranks = local_rendezvous(2);
  std::array<std::string, 2> errors;
  const auto take_part = [&](std::size_t rank, const Config& config) {
    try {
      require_common_settings(ranks[rank], config, core_settings(), "test");
      ranks[rank].barrier("after");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::config);
      errors[rank] = error.what();
    }
  };
  std::thread other([&] { take_part(1, second); });
  take_part(0, first);
  other.join();
  return errors;
}

TEST(CommonSettings, ADifferenceIsNamedOnEveryRank) {
  const auto errors = compare(Config(), Config().set("TUTTI_TIMEOUT", "90s", "--timeout"));
  EXPECT_NE(errors[0].find("TUTTI_TIMEOUT must be the same on all ranks: it is not set (default) on rank 0 and 90s "
                           "(--timeout) on rank 1"),
            std::string::npos)
      << errors[0];
  EXPECT_EQ(errors[0], errors[1]);
}

TEST(CommonSettings, EveryCommonSettingIsCompared) {
  for (const char* name : {"TUTTI_STRICT", "TUTTI_REPRODUCIBLE", "TUTTI_PROGRESS_THREAD", "TUTTI_CHECK"}) {
    EXPECT_NE(compare(Config(), Config().set(name, "1"))[1].find(name), std::string::npos) << name;
  }
}

TEST(CommonSettings, EqualValuesMayBeWrittenDifferently) {
  const auto errors = compare(Config().set("TUTTI_TIMEOUT", "2min").set("TUTTI_CHECK", "yes"),
                              Config().set("TUTTI_TIMEOUT", "120").set("TUTTI_CHECK", "1"));
  EXPECT_EQ(errors[0] + errors[1], "");
}

// 0 means "no timeout", nothing means "the backend's default".
TEST(CommonSettings, NoTimeoutDiffersFromNone) {
  EXPECT_NE(compare(Config(), Config().set("TUTTI_TIMEOUT", "0"))[0], "");
}

TEST(CommonSettings, OtherSettingsMayDiffer) {
  const auto errors = compare(Config().set("TUTTI_DEVICE", "host").set("TUTTI_RENDEZVOUS_TIMEOUT", "1min"), Config());
  EXPECT_EQ(errors[0] + errors[1], "");
}

}  // namespace
}  // namespace tutti

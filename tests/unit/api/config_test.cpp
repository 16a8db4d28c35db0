#include "tutti/config.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <limits>
#include <string>
#include <thread>

#include "settings/settings.hpp"
#include "tutti/communicator.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"

namespace tutti {
namespace {

using namespace std::chrono_literals;

/// Sets an environment variable for the life of the object.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

template <typename Call>
std::string config_error(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::config);
    return error.what();
  }
  return "no error";
}

TEST(ConfigTest, Defaults) {
  const Config config;
  EXPECT_EQ(config.text("TUTTI_BACKEND"), "auto");
  EXPECT_FALSE(config.flag("TUTTI_STRICT"));
  EXPECT_EQ(config.duration("TUTTI_TIMEOUT"), std::nullopt);
  EXPECT_EQ(config.duration("TUTTI_RENDEZVOUS_TIMEOUT"), 5min);
  EXPECT_EQ(config.source("TUTTI_BACKEND"), "default");
}

TEST(ConfigTest, CodeBeatsEnvironmentBeatsDefault) {
  const Variable variable("TUTTI_BACKEND", "one");
  Config config;
  EXPECT_EQ(config.text("TUTTI_BACKEND"), "one");
  EXPECT_EQ(config.source("TUTTI_BACKEND"), "environment");
  const Config copy = config;
  config.set("TUTTI_BACKEND", "two");
  EXPECT_EQ(config.text("TUTTI_BACKEND"), "two");
  EXPECT_EQ(config.source("TUTTI_BACKEND"), "code");
  config.set("TUTTI_BACKEND", "mpi", "--backend");
  EXPECT_EQ(config.source("TUTTI_BACKEND"), "--backend");
  EXPECT_EQ(copy.text("TUTTI_BACKEND"), "one");
}

TEST(ConfigTest, EnvironmentIsReadOnce) {
  const Config before;
  const Variable variable("TUTTI_BACKEND", "later");
  EXPECT_EQ(before.text("TUTTI_BACKEND"), "auto");
}

TEST(ConfigTest, SetToNothingIsNotSet) {
  const Variable variable("TUTTI_RENDEZVOUS_TIMEOUT", "");
  EXPECT_EQ(Config().duration("TUTTI_RENDEZVOUS_TIMEOUT"), 5min);
  EXPECT_EQ(Config().source("TUTTI_RENDEZVOUS_TIMEOUT"), "default");
}

TEST(ConfigTest, ZeroDurationIsNone) {
  EXPECT_EQ(Config().set("TUTTI_RENDEZVOUS_TIMEOUT", "0").duration("TUTTI_RENDEZVOUS_TIMEOUT"), std::nullopt);
}

TEST(ConfigTest, BadValuesAreNamedWithWhatIsAccepted) {
  {
    const Variable variable("TUTTI_TIMEOUT", "abc");
    EXPECT_EQ(config_error([] { (void)Config(); }),
              "TUTTI_TIMEOUT=abc is not a duration; accepted: a number with an optional ms, s, min or h");
  }
  Config config;
  EXPECT_EQ(config_error([&] { config.set("TUTTI_STRICT", "maybe"); }),
            "TUTTI_STRICT=maybe is not a flag; accepted: 0, 1, true, false, yes, no, on or off");
  EXPECT_FALSE(config.flag("TUTTI_STRICT"));
}

TEST(ConfigTest, UncheckedValuesAreCheckedWhenTheyAreRead) {
  const Variable variable("TUTTI_TIMEOUT", "abc");
  const Variable sound("TUTTI_REPRODUCIBLE", "1");
  const Config config = Config::unchecked();
  EXPECT_TRUE(config.flag("TUTTI_REPRODUCIBLE"));
  const std::string expected =
      "TUTTI_TIMEOUT=abc is not a duration; accepted: a number with an optional ms, s, min or h";
  EXPECT_EQ(config_error([&] { (void)config.duration("TUTTI_TIMEOUT"); }), expected);
  EXPECT_EQ(config_error([&] { config.check(); }), expected);
  EXPECT_EQ(config_error([] { (void)local_group(1); }), expected);
  const Config without = config.without_invalid();
  EXPECT_EQ(config_error([&] { without.check(); }), "no error");
  EXPECT_EQ(without.text("TUTTI_TIMEOUT"), "");
  EXPECT_EQ(without.source("TUTTI_TIMEOUT"), "default");
  EXPECT_TRUE(without.flag("TUTTI_REPRODUCIBLE"));
}

TEST(ConfigTest, MessagesAreShortAndPrintable) {
  const std::string message =
      config_error([] { Config().set("TUTTI_TIMEOUT", "\x1b[31m" + std::string(100'000, 'x')); });
  EXPECT_EQ(message, "TUTTI_TIMEOUT=?[31m" + std::string(75, 'x') +
                         "... is not a duration; accepted: a number with an optional ms, s, min or h");
}

TEST(ConfigTest, UnknownNamesAndWrongKinds) {
  Config config;
  EXPECT_EQ(config_error([&] { config.set("TUTTI_BAKEND", "x"); }),
            "TUTTI_BAKEND is not a setting of tutti; `tutti info --config` lists all settings");
  EXPECT_EQ(config_error([&] { (void)config.text("PATH"); }),
            "PATH is not a setting of tutti; `tutti info --config` lists all settings");
  EXPECT_NE(config_error([&] { (void)config.source("TUTTI_BAKEND"); }), "no error");
  EXPECT_NE(config_error([&] { (void)config.flag("TUTTI_BACKEND"); }), "no error");
  const Variable variable("TUTTI_BAKEND", "x");
  const std::vector<std::string> unknown = Config::unknown_variables();
  EXPECT_EQ(std::count(unknown.begin(), unknown.end(), "TUTTI_BAKEND"), 1);
  EXPECT_EQ(std::count(unknown.begin(), unknown.end(), "TUTTI_BACKEND"), 0);
}

TEST(ConfigTest, SecretsAreNotShown) {
  Config config;
  EXPECT_EQ(config.shown("TUTTI_JOB_SECRET"), "");
  config.set("TUTTI_JOB_SECRET", "hush");
  EXPECT_EQ(config.shown("TUTTI_JOB_SECRET"), "(set)");
  EXPECT_EQ(config.text("TUTTI_JOB_SECRET"), "hush");
  EXPECT_EQ(config.shown("TUTTI_BACKEND"), "auto");
  EXPECT_EQ(config_error([&] { (void)config.flag("TUTTI_JOB_SECRET"); }),
            "setting TUTTI_JOB_SECRET is read as another kind of value than it is declared as");
}

TEST(ConfigTest, SettingsAreInOrderOfNameAndDescribed) {
  const std::vector<Setting> rows = Config::settings();
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.name < b.name; }));
  for (const Setting& row : rows) {
    EXPECT_TRUE(row.name.starts_with("TUTTI_")) << row.name;
    EXPECT_TRUE(row.help.ends_with(".")) << row.name;
  }
}

/// A new name at each call, also with --gtest_repeat: settings stay registered for the life of the process.
const std::string& fresh_name() {
  static std::deque<std::string> names;
  return names.emplace_back("TUTTI_TEST_ROW_" + std::to_string(names.size()));
}

TEST(ConfigTest, RowsOfModulesCountAlsoForObjectsMadeBefore) {
  const std::string& slot = fresh_name();
  const std::string& depth = fresh_name();
  const std::string& memory = fresh_name();
  const std::array rows = {
      Setting{.name = slot, .default_value = "64K", .kind = SettingKind::bytes, .help = "A."},
      Setting{.name = depth, .default_value = "4", .kind = SettingKind::integer, .help = "B."},
      Setting{.name = memory,
              .default_value = "auto",
              .kind = SettingKind::choice,
              .help = "C.",
              .choices = "auto|memfd|shm"},
  };
  const Variable good(slot.c_str(), "2M");
  const Variable bad(depth.c_str(), "-3");
  Config config;
  EXPECT_NE(config_error([&] { (void)config.bytes(slot); }), "no error");
  register_settings(rows);
  register_settings(rows);
  EXPECT_EQ(config.bytes(slot), std::uint64_t{2} << 20);
  EXPECT_EQ(config.source(slot), "environment");
  EXPECT_EQ(config_error([&] { (void)config.integer(depth); }),
            depth + "=-3 is not an integer; accepted: a whole number from 0 to 18446744073709551615");
  EXPECT_NE(config_error([] { (void)Config(); }), "no error") << "Config() must check a setting that is registered";
  EXPECT_EQ(config.text(memory), "auto");
  EXPECT_EQ(config.set(memory, "shm").text(memory), "shm");
  for (const char* word : {"", "sh", "auto|memfd", "SHM"}) {
    EXPECT_EQ(config_error([&] { config.set(memory, word); }),
              memory + "=" + word + " is not a choice; accepted: auto, memfd or shm");
  }
}

TEST(ConfigTest, RowsThatContradictAreRefusedTogether) {
  static constexpr std::array kRows = {
      Setting{.name = "TUTTI_TEST_NEW", .default_value = "", .help = "A."},
      Setting{.name = "TUTTI_BACKEND", .default_value = "other", .help = "B."},
  };
  static constexpr std::array kBadDefault = {
      Setting{.name = "TUTTI_TEST_BAD", .default_value = "x", .kind = SettingKind::bytes, .help = "A."}};
  EXPECT_NE(config_error([] { register_settings(kRows); }), "no error");
  EXPECT_NE(config_error([] { (void)Config().text("TUTTI_TEST_NEW"); }), "no error");
  EXPECT_NE(config_error([] { register_settings(kBadDefault); }), "no error");
}

TEST(ConfigTest, RegistryIsThreadSafe) {
  static constexpr std::array kRows = {Setting{.name = "TUTTI_TEST_THREADS", .default_value = "1", .help = "A."}};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 100; ++round) {
        register_settings(kRows);
        EXPECT_EQ(Config().text("TUTTI_TEST_THREADS"), "1");
        EXPECT_FALSE(Config::settings().empty());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ConfigTest, ParsesBytes) {
  EXPECT_EQ(parse_bytes("0"), 0U);
  EXPECT_EQ(parse_bytes("512"), 512U);
  EXPECT_EQ(parse_bytes("64K"), 65536U);
  EXPECT_EQ(parse_bytes("1m"), 1048576U);
  EXPECT_EQ(parse_bytes("3G"), std::uint64_t{3} << 30);
  EXPECT_EQ(parse_bytes("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parse_bytes("17179869183G"), std::uint64_t{17179869183} << 30);
  for (const char* bad : {"", "K", "-1", "+1", " 1", "1 ", "1KB", "1.5K", "0x10", "1T", "18446744073709551616",
                          "17179869184G", "99999999999999999999999G", "nan"}) {
    EXPECT_EQ(parse_bytes(bad), std::nullopt) << bad;
  }
}

TEST(ConfigTest, ParsesDurations) {
  EXPECT_EQ(parse_duration("250ms"), 250ms);
  EXPECT_EQ(parse_duration("5s"), 5s);
  EXPECT_EQ(parse_duration("2min"), 2min);
  EXPECT_EQ(parse_duration("1.5h"), 90min);
  EXPECT_EQ(parse_duration("30"), 30s);
  EXPECT_EQ(parse_duration(".5"), 500ms);
  EXPECT_EQ(parse_duration("0"), 0ns);
  EXPECT_EQ(parse_duration("0.0000000000001ms"), 1ns);
  for (const char* bad : {"", "abc", "s", "-1", "+1", " 1", "1 s", "1m", "1e3", "inf", "nan", "0x1", ".", "1..2",
                          "1sec", "9223372037", "99999999999999999999999999h", "infinity"}) {
    EXPECT_EQ(parse_duration(bad), std::nullopt) << bad;
  }
}

TEST(ConfigTest, ForeignVariables) {
  EXPECT_EQ(spi::environment("TUTTI_TEST_ABSENT"), std::nullopt);
  const Variable empty("TUTTI_TEST_FOREIGN", "");
  EXPECT_EQ(spi::environment("TUTTI_TEST_FOREIGN"), "");
  const Variable full("TUTTI_TEST_FOREIGN", "7");
  EXPECT_EQ(spi::environment("TUTTI_TEST_FOREIGN"), "7");
}

}  // namespace
}  // namespace tutti

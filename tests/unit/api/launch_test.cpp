#include "launch/launch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tutti/error.hpp"

namespace tutti {
namespace {

using namespace std::chrono_literals;
using Variables = std::map<std::string, std::string>;

class LaunchTest : public testing::Test {
 protected:
  void SetUp() override {
    ::alarm(60);
    clear();
  }
  void TearDown() override {
    clear();
    ::alarm(0);
  }

  static void clear() {
    for (const char* name :
         {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TUTTI_STORE",
          "TUTTI_JOB_SECRET", "TUTTI_JOB_SECRET_FILE", "TUTTI_JOB_ID", "TORCHELASTIC_RUN_ID"}) {
      ::unsetenv(name);
    }
  }

  static std::optional<Launch> launch(const Variables& variables) {
    clear();
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    return launch_from_environment(Config().set("TUTTI_RENDEZVOUS_TIMEOUT", "10s"));
  }

  static std::string config_error(const Variables& variables) {
    try {
      (void)launch(variables);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::config) << error.what();
      return error.what();
    }
    return "no error";
  }

  /// A port that another run of this test at the same time is unlikely to use.
  static std::string port() { return std::to_string(1024 + ::getpid() % 60000); }
};

TEST_F(LaunchTest, NothingSetIsNoJob) { EXPECT_FALSE(launch({}).has_value()); }

TEST_F(LaunchTest, EmptyVariablesAreNotSet) { EXPECT_FALSE(launch({{"RANK", ""}, {"MASTER_ADDR", ""}}).has_value()); }

TEST_F(LaunchTest, StoreOfTheLauncher) {
  const std::string secret = make_secret();
  const StoreServer server("tcp:127.0.0.1:0", secret);
  const std::optional<Launch> job = launch({{"TUTTI_STORE", server.address()},
                                            {"TUTTI_JOB_SECRET", secret},
                                            {"RANK", "2"},
                                            {"WORLD_SIZE", "3"},
                                            {"LOCAL_RANK", "0"},
                                            {"LOCAL_WORLD_SIZE", "1"},
                                            {"MASTER_ADDR", "elsewhere"}});
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->rank, 2);
  EXPECT_EQ(job->size, 3);
  EXPECT_EQ(job->local_rank, 0);
  EXPECT_EQ(job->local_size, 1);
  EXPECT_EQ(job->source, "tutti run");
  EXPECT_EQ(job->server, nullptr);
  job->store->put("k", "v");
  EXPECT_EQ(connect_store(server.address(), secret, 10s)->get("k", 0s), "v");
}

TEST_F(LaunchTest, RankZeroHostsOnOneHostWithoutASecret) {
  const Variables common = {{"WORLD_SIZE", "2"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", port()}};
  Variables first = common;
  first["RANK"] = "0";
  Variables second = common;
  second["RANK"] = "1";
  const std::optional<Launch> zero = launch(first);
  const std::optional<Launch> one = launch(second);
  ASSERT_TRUE(zero && one);
  ASSERT_NE(zero->server, nullptr);
  EXPECT_TRUE(zero->server->address().starts_with("unix:"));
  EXPECT_EQ(one->server, nullptr);
  EXPECT_EQ(one->local_rank, 1);
  EXPECT_EQ(one->local_size, 2);
  one->store->put("k", "v");
  EXPECT_EQ(zero->store->get("k", 10s), "v");
  EXPECT_NE(config_error(first).find("set another MASTER_PORT, the same on all ranks"), std::string::npos);
}

// A process of an earlier job may still look for its rank 0, with the same port and without a secret.
TEST_F(LaunchTest, RanksOfAnotherJobAreRefused) {
  Variables first = {{"WORLD_SIZE", "2"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", port()}, {"RANK", "0"}};
  first["TUTTI_JOB_ID"] = "new";
  const std::optional<Launch> zero = launch(first);
  ASSERT_TRUE(zero.has_value());
  Variables other = first;
  other["RANK"] = "1";
  const auto refusal = [](const Variables& variables) {
    try {
      (void)launch(variables);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  other.erase("TUTTI_JOB_ID");
  EXPECT_NE(refusal(other).find("it serves job new, and this process (pid "), std::string::npos) << refusal(other);
  other["TORCHELASTIC_RUN_ID"] = "old";
  EXPECT_NE(refusal(other).find("belongs to job old"), std::string::npos) << refusal(other);
  other["TORCHELASTIC_RUN_ID"] = "new";
  other["WORLD_SIZE"] = "3";
  EXPECT_NE(refusal(other).find("its job has 2 ranks, and this process (rank 1, pid "), std::string::npos)
      << refusal(other);
  other["WORLD_SIZE"] = "2";
  EXPECT_TRUE(launch(other).has_value());
}

TEST_F(LaunchTest, SecretFromAFileOpensTcp) {
  const std::string path = testing::TempDir() + "tutti-secret-" + std::to_string(::getpid());
  std::ofstream(path) << make_secret() << "\n";
  // Lets the system choose a free port; the destructor of the server frees it again.
  const std::string free = [] {
    const StoreServer probe("tcp:127.0.0.1:0", make_secret());
    return probe.address().substr(probe.address().rfind(':') + 1);
  }();
  const Variables job = {{"RANK", "0"},
                         {"WORLD_SIZE", "2"},
                         {"MASTER_ADDR", "127.0.0.1"},
                         {"MASTER_PORT", free},
                         {"TUTTI_JOB_SECRET_FILE", path}};
  const std::optional<Launch> zero = launch(job);
  ASSERT_TRUE(zero.has_value());
  EXPECT_EQ(zero->server->address(), "tcp:127.0.0.1:" + free);
  const std::string taken = config_error(job);
  EXPECT_TRUE(taken.starts_with("MASTER_PORT=" + free + " is taken")) << taken;
  std::ofstream(path) << "\n";
  EXPECT_NE(config_error(job).find("holds no secret"), std::string::npos);
  ::unlink(path.c_str());
  EXPECT_NE(config_error(job).find("TUTTI_JOB_SECRET_FILE=" + path + " cannot be read"), std::string::npos);
}

TEST_F(LaunchTest, OneRankNeedsNobody) {
  const std::optional<Launch> job =
      launch({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "elsewhere.invalid"}, {"MASTER_PORT", "1"}});
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->local_rank, -1);
  job->store->put("k", "v");
  EXPECT_EQ(job->store->get("k", 0s), "v");
}

TEST_F(LaunchTest, OtherHostsNeedASecret) {
  const std::string message =
      config_error({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}});
  EXPECT_NE(message.find("MASTER_ADDR=node7"), std::string::npos);
  EXPECT_NE(message.find("export TUTTI_JOB_SECRET=$(openssl rand -hex 32)"), std::string::npos);
  for (const char* disguised : {"127.0.0.1.evil.example", "localhost.example", "127"}) {
    EXPECT_NE(config_error({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", disguised}, {"MASTER_PORT", "29500"}})
                  .find("TUTTI_JOB_SECRET"),
              std::string::npos);
  }
}

TEST_F(LaunchTest, BadValuesAreNamed) {
  const Variables good = {{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "29500"}};
  const auto with = [&](const std::string& name, const std::string& value) {
    Variables changed = good;
    changed[name] = value;
    return config_error(changed);
  };
  EXPECT_EQ(with("RANK", "4"), "RANK=4 is not accepted; accepted: a whole number from 0 to 3");
  EXPECT_EQ(with("RANK", "-1"), "RANK=-1 is not accepted; accepted: a whole number from 0 to 3");
  EXPECT_EQ(with("RANK", "one"), "RANK=one is not accepted; accepted: a whole number from 0 to 3");
  EXPECT_EQ(with("WORLD_SIZE", "0"), "WORLD_SIZE=0 is not accepted; accepted: a whole number from 1 to 2147483647");
  EXPECT_EQ(with("WORLD_SIZE", "2147483648"),
            "WORLD_SIZE=2147483648 is not accepted; accepted: a whole number from 1 to 2147483647");
  EXPECT_EQ(with("LOCAL_RANK", "4"), "LOCAL_RANK=4 is not accepted; accepted: a whole number from 0 to 3");
  EXPECT_EQ(with("LOCAL_WORLD_SIZE", "5"), "LOCAL_WORLD_SIZE=5 is not accepted; accepted: a whole number from 1 to 4");
  EXPECT_EQ(with("MASTER_PORT", "0"), "MASTER_PORT=0 is not accepted; accepted: a whole number from 1 to 65535");
  EXPECT_EQ(with("MASTER_PORT", "http"), "MASTER_PORT=http is not accepted; accepted: a whole number from 1 to 65535");
}

TEST_F(LaunchTest, HalfAJobIsAnError) {
  EXPECT_EQ(config_error({{"RANK", "0"}, {"WORLD_SIZE", "2"}}),
            "the environment has RANK, WORLD_SIZE, but not MASTER_ADDR, MASTER_PORT; set all of them or none");
  EXPECT_EQ(config_error({{"MASTER_ADDR", "localhost"}}),
            "the environment has MASTER_ADDR, but not RANK, WORLD_SIZE, MASTER_PORT; set all of them or none");
  EXPECT_EQ(config_error({{"TUTTI_STORE", "unix:x"}, {"RANK", "0"}}),
            "the environment has TUTTI_STORE, RANK, but not WORLD_SIZE; set all of them or none");
}

}  // namespace
}  // namespace tutti

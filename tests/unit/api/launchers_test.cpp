#include "launch/launchers.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <set>

#include "launch/launch.hpp"
#include "tutti/error.hpp"

namespace tutti {
namespace {

using Variables = std::map<std::string, std::string>;

VariableLookup lookup_in(const Variables& variables) {
  return [&variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

/// The variables of task `rank` of a step of four tasks on two hosts.
Variables step_of_four(const std::string& rank) {
  return {{"SLURM_JOB_ID", "7000"},
          {"SLURM_STEP_ID", "3"},
          {"SLURM_PROCID", rank},
          {"SLURM_NTASKS", "4"},
          {"SLURM_STEP_NUM_TASKS", "4"},
          {"SLURM_LOCALID", rank == "3" ? "0" : rank},
          {"SLURM_NODEID", rank == "3" ? "1" : "0"},
          {"SLURM_STEP_NODELIST", "n[07-08]"},
          {"SLURM_STEP_NUM_NODES", "2"},
          {"SLURM_STEP_TASKS_PER_NODE", "3,1"}};
}

/// The same on one host. The job's number is that of this process: tests may run at the same time.
Variables step_on_one_host(const std::string& rank) {
  Variables variables = step_of_four(rank);
  variables["SLURM_JOB_ID"] = std::to_string(::getpid());
  variables["SLURM_STEP_NODELIST"] = "n07";
  variables["SLURM_STEP_NUM_NODES"] = "1";
  variables["SLURM_STEP_TASKS_PER_NODE"] = "4";
  return variables;
}

TEST(SlurmStep, RankSizeAndHosts) {
  const std::optional<SlurmStep> step = slurm_step(lookup_in(step_of_four("3")));
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->rank, 3);
  EXPECT_EQ(step->size, 4);
  EXPECT_EQ(step->local_rank, 0);
  EXPECT_EQ(step->local_size, 1);
  EXPECT_FALSE(step->on_one_host);
  EXPECT_EQ(step->first_host, "n07");
}

TEST(SlurmStep, OutsideAStepThereIsNone) {
  Variables batch = step_of_four("0");
  batch.erase("SLURM_STEP_ID");
  EXPECT_FALSE(slurm_step(lookup_in(batch)).has_value());
  for (const char* special : {"4294967291", "4294967290", "batch", ""}) {
    batch["SLURM_STEP_ID"] = special;
    EXPECT_FALSE(slurm_step(lookup_in(batch)).has_value()) << special;
  }
}

TEST(SlurmStep, TasksOfTheStepNotOfTheAllocation) {
  Variables one = step_of_four("0");
  one["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_EQ(slurm_step(lookup_in(one))->size, 1);
}

TEST(SlurmStep, UnreadableListsAreUnknown) {
  Variables odd = step_of_four("1");
  odd["SLURM_STEP_NODELIST"] = "n[07-";
  odd["SLURM_STEP_TASKS_PER_NODE"] = "3(";
  const std::optional<SlurmStep> step = slurm_step(lookup_in(odd));
  EXPECT_EQ(step->first_host, "");
  EXPECT_EQ(step->local_size, -1);
  EXPECT_EQ(step->local_rank, 1);
}

TEST(SlurmStep, StepsOfOneJobHaveDifferentPorts) {
  std::set<int> ports;
  for (std::uint64_t step = 0; step < 1000; ++step) {
    SlurmStep one;
    one.job = 123456789;
    one.step = step;
    const int port = port_of(one);
    EXPECT_TRUE(port >= 20000 && port < 32000) << port;
    ports.insert(port);
  }
  EXPECT_EQ(ports.size(), 1000U);
}

TEST(StartedTasks, TheInnermostLauncherCounts) {
  const Variables nested = {
      {"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMI_RANK", "5"}, {"PMI_SIZE", "8"}};
  const std::optional<StartedTasks> tasks = started_tasks(lookup_in(nested));
  EXPECT_EQ(tasks->size, 2);
  EXPECT_EQ(tasks->seen, "OMPI_COMM_WORLD_RANK=1, OMPI_COMM_WORLD_SIZE=2");
  EXPECT_FALSE(started_tasks(lookup_in({})).has_value());
}

/// Tests of launch_from_environment() with the variables of launchers.
class LauncherVariables : public testing::Test {
 protected:
  void SetUp() override { ::alarm(60); }
  void TearDown() override {
    clear();
    ::alarm(0);
  }
  static void clear() {
    Variables known = step_of_four("0");
    for (const char* name :
         {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TUTTI_JOB_SECRET", "PMI_RANK", "PMI_SIZE", "PMIX_RANK",
          "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PALS_RANKID", "PALS_SIZE"}) {
      known[name] = "";
    }
    for (const auto& [name, value] : known) ::unsetenv(name.c_str());
  }
  static std::optional<Launch> launch(Variables variables, const Variables& more = {},
                                      const std::string& refusals = {}) {
    clear();
    for (const auto& [name, value] : more) variables[name] = value;
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    return launch_from_environment(Config().set("TUTTI_RENDEZVOUS_TIMEOUT", "10s"), refusals);
  }
  static std::string config_error(const Variables& variables, const Variables& more = {},
                                  const std::string& refusals = {}) {
    try {
      (void)launch(variables, more, refusals);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::config) << error.what();
      return error.what();
    }
    return "no error";
  }
  static void expect_in(const std::string& part, const std::string& text) {
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in: " << text;
  }
};

TEST_F(LauncherVariables, AStepOnOneHostMeetsWithoutASecret) {
  const std::optional<Launch> zero = launch(step_on_one_host("0"));
  const std::optional<Launch> two = launch(step_on_one_host("2"));
  ASSERT_TRUE(zero && two);
  EXPECT_EQ(two->rank, 2);
  EXPECT_EQ(two->size, 4);
  EXPECT_EQ(two->local_rank, 2);
  EXPECT_EQ(two->local_size, 4);
  EXPECT_EQ(two->source, "srun");
  EXPECT_TRUE(zero->server->address().starts_with("unix:")) << zero->server->address();
  two->store->put("k", "v");
  EXPECT_EQ(zero->store->get("k", std::chrono::seconds(10)), "v");
  const std::string taken = config_error(step_on_one_host("0"));
  expect_in("SLURM_JOB_ID=" + std::to_string(::getpid()) + " and SLURM_STEP_ID=3 is taken", taken);
  expect_in("set another MASTER_PORT", taken);
}

TEST_F(LauncherVariables, AStepOnTwoHostsNeedsASecret) {
  const std::string message = config_error(step_of_four("1"));
  expect_in("Slurm step 7000.3 runs on several hosts (SLURM_STEP_NODELIST=n[07-08])", message);
  expect_in("export TUTTI_JOB_SECRET=$(openssl rand -hex 32)", message);
  expect_in("set RANK=0 and WORLD_SIZE=1", message);
}

TEST_F(LauncherVariables, AStepOnTwoHostsMeetsAtItsFirstHost) {
  const Variables more = {{"TUTTI_JOB_SECRET", make_secret()},
                          {"SLURM_JOB_ID", std::to_string(::getpid())},
                          {"SLURM_STEP_NODELIST", "127.0.0.[1-2]"}};
  const std::optional<Launch> zero = launch(step_of_four("0"), more);
  const std::optional<Launch> three = launch(step_of_four("3"), more);
  ASSERT_TRUE(zero && three);
  EXPECT_TRUE(zero->server->address().starts_with("tcp:")) << zero->server->address();
  three->store->put("k", "v");
  EXPECT_EQ(zero->store->get("k", std::chrono::seconds(10)), "v");
  expect_in(", derived from SLURM_JOB_ID=", config_error(step_of_four("0"), more));
  expect_in("set MASTER_ADDR to the host of task 0",
            config_error(step_of_four("1"), {{"TUTTI_JOB_SECRET", make_secret()}, {"SLURM_STEP_NODELIST", "n["}}));
}

TEST_F(LauncherVariables, MasterVariablesOverrideThoseOfTheStep) {
  const Variables more = {{"MASTER_ADDR", "localhost"}, {"MASTER_PORT", std::to_string(1024 + ::getpid() % 60000)}};
  const std::optional<Launch> zero = launch(step_of_four("0"), more);
  const std::optional<Launch> one = launch(step_of_four("1"), more);
  ASSERT_TRUE(zero && one);
  EXPECT_TRUE(zero->server->address().ends_with("-" + more.at("MASTER_PORT"))) << zero->server->address();
  EXPECT_EQ(one->local_size, 3);
}

TEST_F(LauncherVariables, OutsideAStepThereIsOneRank) {
  Variables batch = step_of_four("0");
  batch.erase("SLURM_STEP_ID");
  EXPECT_FALSE(launch(batch).has_value());
  Variables alone = step_of_four("0");
  alone["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_EQ(launch(alone)->size, 1);
  EXPECT_EQ(launch(alone, {{"MASTER_ADDR", "n07"}})->size, 1);
}

TEST_F(LauncherVariables, ContradictionsAreNamed) {
  expect_in("SLURM_PROCID=4, SLURM_STEP_NUM_TASKS=4", config_error(step_of_four("4")));
  expect_in("SLURM_PROCID=x", config_error(step_of_four("x")));
}

TEST_F(LauncherVariables, TasksOfALauncherThatNothingServesAreAnError) {
  const std::string message = config_error({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}, {}, "MPI: no library was found");
  expect_in("(PMI_RANK=1, PMI_SIZE=4) that started 4 tasks", message);
  expect_in("MPI: no library was found", message);
  expect_in("RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE MASTER_ADDR=", message);
  expect_in("set RANK=0 and WORLD_SIZE=1", message);
  expect_in("started 3 tasks", config_error({{"PALS_RANKID", "2"}, {"PALS_SIZE", "3"}}));
  expect_in("an unknown number of tasks", config_error({{"PMIX_RANK", "0"}}));
}

TEST_F(LauncherVariables, OneTaskIsOneRank) {
  EXPECT_FALSE(launch({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}).has_value());
  // mpirun -n 1 inside a step of four tasks.
  EXPECT_FALSE(launch(step_of_four("2"), {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}).has_value());
}

TEST_F(LauncherVariables, EachTaskCanBeAJobOfItsOwn) {
  const Variables own = {{"RANK", "0"}, {"WORLD_SIZE", "1"}};
  EXPECT_EQ(launch(step_of_four("2"), own)->size, 1);
  EXPECT_EQ(launch({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}, own)->size, 1);
  expect_in("RANK=1 is not accepted", config_error({{"RANK", "1"}, {"WORLD_SIZE", "1"}}));
}

TEST_F(LauncherVariables, ALauncherInsideAStepHasItsOwnRanks) {
  expect_in("(OMPI_COMM_WORLD_RANK=1, OMPI_COMM_WORLD_SIZE=8) that started 8 tasks",
            config_error(step_of_four("1"), {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "8"}}));
  // srun itself sets these: the tasks are the same.
  Variables same = step_on_one_host("0");
  same["SLURM_STEP_ID"] = "4";
  EXPECT_EQ(launch(same, {{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}})->size, 4);
  EXPECT_EQ(launch(same, {{"PMIX_RANK", "0"}})->size, 4);
}

}  // namespace
}  // namespace tutti

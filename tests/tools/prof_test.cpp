#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support.hpp"
#include "support/required_backends.hpp"

namespace tutti::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string kProgram = TUTTI_TEST_PROGRAM;

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Words joined for a shell.
std::string shell_text(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += "'" + word + "' ";
  return text;
}

/// All lines of the output that are tallies in JSON, without the prefix of a launcher.
std::vector<Json> tallies(const std::string& output) {
  std::vector<Json> found;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find("{\"");
    if (at == std::string::npos) continue;
    Json value = Json::parse(line.substr(at), nullptr, false);
    if (value.is_object() && value.contains("units")) found.push_back(std::move(value));
  }
  return found;
}

/// Calls of a function of the test program in a tally; 0 if there are none.
int calls_of(const Json& tally, const std::string& function) {
  if (!tally.contains("host") || !tally["host"].contains("11")) return 0;
  const Json& data = tally["host"]["11"]["data"];
  return data.contains(function) ? data[function]["call"].get<int>() : 0;
}

/// A folder for the sessions of a test, which must be empty at the end: nothing is left behind.
class Prof : public testing::Test {
 protected:
  CommandResult run(Words words, std::map<std::string, std::string> environment = {}) {
    environment.emplace("TMPDIR", temporary_.path());
    environment.emplace("XDG_DATA_HOME", data_.path());
    return run_tutti(std::move(words), environment);
  }
  CommandResult run_other(const Words& words) {
    return run_command(words, {{"TMPDIR", temporary_.path()}, {"XDG_DATA_HOME", data_.path()}}, 120s);
  }
  Subprocess start(Words words) {
    return Subprocess(tutti(std::move(words)), {{"TMPDIR", temporary_.path()}, {"XDG_DATA_HOME", data_.path()}});
  }
  /// The only tally of the output; a failure and an empty object if there are others or none.
  static Json only_tally(const CommandResult& result) {
    const std::vector<Json> found = tallies(result.output);
    EXPECT_EQ(found.size(), 1U) << result.output;
    return found.size() == 1 ? found.front() : Json::object();
  }
  // The guard of a rank that a launcher has killed may report a moment after the launcher has ended.
  void TearDown() override {
    for (const auto deadline = soon(20s); !fs::is_empty(temporary_.path());) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << *fs::directory_iterator(temporary_.path());
      std::this_thread::sleep_for(10ms);
    }
  }

  TemporaryFolder temporary_;
  TemporaryFolder data_;
};

TEST_F(Prof, CountsTheCallsOfACommand) {
  const CommandResult result = run({"prof", "-j", "--", kProgram, "137"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(calls_of(only_tally(result), "work"), 137);
}

TEST_F(Prof, CountsTheProcessesThatACommandStarts) {
  const std::string script = kProgram + " 10; " + kProgram + " 20 & wait; (exec " + kProgram + " 30)";
  EXPECT_EQ(calls_of(only_tally(run({"prof", "-j", "--", "sh", "-c", script})), "work"), 60);
}

TEST_F(Prof, TheExitCodeIsThatOfTheCommand) {
  EXPECT_EQ(run({"prof", "--", kProgram, "1", "--exit", "3"}).code, 3);
  const CommandResult killed = run({"prof", "-j", "--", kProgram, "5", "--kill", "9"});
  EXPECT_EQ(killed.code, 128 + 9);
  EXPECT_EQ(calls_of(only_tally(killed), "work"), 5) << killed.output;
  EXPECT_EQ(run({"prof", "--", kProgram, "5", "--kill", "11"}).code, 128 + 11);
  EXPECT_EQ(run({"prof", "--", "./no-such-program"}).code, 127);
  EXPECT_EQ(run({"prof", "--", "/etc/passwd"}).code, 126);
}

TEST_F(Prof, InputAndOutputAreThoseOfTheCommand) {
  const TemporaryFolder folder;
  const std::string script = "printf 'a\\nb' | " + shell_text(tutti({"prof", "--", "sh", "-c"})) + "'cat; " + kProgram +
                             " 3; echo err >&2' >" + folder.file("out") + " 2>" + folder.file("err");
  EXPECT_EQ(run_other({"sh", "-c", script}).code, 0);
  EXPECT_EQ(read_file(folder.file("out")), "a\nb");
  const std::string err = read_file(folder.file("err"));
  EXPECT_TRUE(err.starts_with("err\n")) << err;
  EXPECT_NE(err.find("BACKEND_TEST | 1 Hostnames | 1 Processes | 1 Threads | \n"), std::string::npos) << err;
}

TEST_F(Prof, AScriptWithoutAnInterpreterRunsInAShell) {
  const TemporaryFolder folder;
  const std::string script = folder.add("script", "echo $0 $1\n");
  fs::permissions(script, fs::perms::owner_all);
  EXPECT_EQ(run({"prof", "-j", "--", script, "word"}).output.find(script + " word\n"), 0U);
}

TEST_F(Prof, IgnoredSignalsStayIgnored) {
  const std::string script =
      "trap '' HUP; " + shell_text(tutti({"prof", "--", "sh", "-c"})) + "'kill -HUP $$; echo alive'";
  EXPECT_EQ(count(run_other({"sh", "-c", script}).output, "alive\n"), 1);
}

TEST_F(Prof, LibrariesThatTheUserPreloadsStay) {
  const CommandResult result =
      run({"prof", "--", "sh", "-c", "echo preload=$LD_PRELOAD"}, {{"LD_PRELOAD", "libm.so.6"}});
  const std::size_t at = result.output.find("preload=");
  ASSERT_NE(at, std::string::npos);
  const std::string preload = result.output.substr(at + 8, result.output.find('\n', at) - at - 8);
  EXPECT_TRUE(preload.ends_with("libm.so.6")) << preload;
}

TEST_F(Prof, OnlyTheOuterOfTwoHasASession) {
  const Words inner = tutti({"prof", "-j", "--", kProgram, "7"});
  Words words = {"prof", "-j", "--"};
  words.insert(words.end(), inner.begin(), inner.end());
  EXPECT_EQ(calls_of(only_tally(run(words)), "work"), 7);
}

TEST_F(Prof, CommandLinesThatAreRefused) {
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"prof"}, "the command is missing"},
      {{"prof", "-b", "omp", "--", "true"}, "source \"omp\" is unknown; accepted: tutti, ccl, nccl, mpi"},
      {{"prof", "-b", "mpi:x", "--", "true"}, "is not a number"},
      {{"prof", "-m", "some", "--", "true"}, "accepted: minimal, default, full"},
      {{"prof", "-s", "--", "true"}, "--sample is not available"},
      {{"prof", "-k", "--", "true"}, "--kernel-verbose is not available"},
      {{"prof", "--by", "color", "--", "true"}, "accepted: op, size, backend, rank, device, caller, region"},
      {{"prof", "--traced-ranks", "a", "--", "true"}, "is no rank"},
      {{"prof", "--memory-limit", "much", "--", "true"}, "is no size"},
      {{"prof", "--every", "0", "--", "true"}, "is not a duration"},
      {{"prof", "--control", "pause"}, "accepted: start, stop, dump"},
      {{"prof", "--control", "dump", "/etc/passwd"}, "neither the folder of a session nor a pid"},
      {{"prof", "-r", "--", "true"}, "takes no command"},
      {{"prof", "-r"}, "no session was kept yet"},
      {{"tally"}, "no session was kept yet"},
      {{"tally", "--compare", "one"}, "takes two folders"},
      {{"prof", "--bogus", "--", "true"}, "unknown option --bogus"}};
  for (const auto& [words, message] : cases) {
    const CommandResult result = run(words);
    EXPECT_EQ(result.code, 2) << result.output;
    EXPECT_NE(result.output.find(message), std::string::npos) << result.output;
  }
}

TEST_F(Prof, AFolderThatCannotBeWrittenLeavesTheCommandAlone) {
  const CommandResult result = run({"prof", "--", kProgram, "5", "--exit", "4"}, {{"TMPDIR", "/proc/no-folder"}});
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(count(result.output, "\n"), 1) << result.output;
  EXPECT_NE(result.output.find("tutti: nothing is recorded: cannot create the folder /proc/no-folder"),
            std::string::npos)
      << result.output;
}

TEST_F(Prof, AFullDiskLeavesTheCommandAlone) {
  const std::string script = "mount -t tmpfs -o size=64k tmpfs " + temporary_.path().string() + " && " +
                             "head -c 1M /dev/zero > " + temporary_.file("rest") + " 2>/dev/null; " +
                             shell_text(tutti({"prof", "--", kProgram, "5", "--exit", "4"}));
  const CommandResult result = run_other({"unshare", "-m", "sh", "-c", script});
  if (result.output.find("mount:") != std::string::npos || result.output.find("unshare:") != std::string::npos)
    GTEST_SKIP() << "this user cannot mount a small disk: " << result.output;
  EXPECT_EQ(result.code, 4) << result.output;
  EXPECT_NE(result.output.find("No space left on device"), std::string::npos) << result.output;
}

TEST_F(Prof, ProgramsThatCannotBeRecordedAreNamed) {
  const std::string fixed = "/sbin/ldconfig";
  if (access(fixed.c_str(), X_OK) != 0) GTEST_SKIP() << fixed << ", a static program, is not here";
  const CommandResult result = run({"prof", "--", fixed, "-p"});
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_EQ(count(result.output, "the calls of /sbin/ldconfig cannot be recorded: it is statically linked"), 1)
      << result.output;
}

TEST_F(Prof, ProgramsWithPrivilegesAreNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a set-user-ID program of another user";
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms(0755));
  const std::string copy = folder.file("program");
  fs::copy_file("/bin/true", copy);
  ASSERT_EQ(chown(copy.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(copy.c_str(), 04755), 0);
  const CommandResult result = run({"prof", "--", copy});
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_EQ(count(result.output, "it has privileges of its own"), 1) << result.output;
}

TEST_F(Prof, ACommandThatReplacesThePreloadedLibrariesIsLeftAlone) {
  const CommandResult result = run({"prof", "--", "sh", "-c", "export LD_PRELOAD=libm.so.6; sh -c 'exit 5'"});
  EXPECT_EQ(result.code, 5) << result.output;
  EXPECT_EQ(count(result.output, "\n"), 1) << result.output;
  EXPECT_EQ(count(result.output, "processes of other users, on other hosts, or without LD_PRELOAD"), 1)
      << result.output;
}

TEST_F(Prof, ACommandOfAnotherUserIsLeftAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can start a program as another user";
  const CommandResult plain = run_other({"setpriv", "--reuid", "65534", "--clear-groups", "sh", "-c", "exit 6"});
  if (plain.code != 6) GTEST_SKIP() << "setpriv does not work here: " << plain.output;
  const CommandResult result =
      run({"prof", "--", "setpriv", "--reuid", "65534", "--clear-groups", "sh", "-c", "exit 6"});
  EXPECT_EQ(result.code, 6) << result.output;
  EXPECT_EQ(count(result.output, "\n"), 1) << result.output;
  EXPECT_EQ(count(result.output, "processes of other users"), 1) << result.output;
}

TEST_F(Prof, ASignalGoesToTheCommandAndTheTallyComes) {
  Subprocess run = start({"prof", "-j", "--", kProgram, "11", "--wait", data_.file("never")});
  ASSERT_TRUE(run.wait_for_output("ready", soon()));
  ::kill(run.pid(), SIGINT);
  const auto end = run.wait(soon());
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 128 + SIGINT);
  const std::vector<Json> found = tallies(run.output());
  ASSERT_EQ(found.size(), 1U) << run.output();
  EXPECT_EQ(calls_of(found.front(), "work"), 11);
}

TEST_F(Prof, AStoppedCommandStopsTheProfilerAndGoesOn) {
  Subprocess run = start({"prof", "-j", "--", kProgram, "11", "--wait", data_.file("go")});
  ASSERT_TRUE(run.wait_for_output("ready", soon()));
  ::kill(run.pid(), SIGTSTP);
  const auto state = [&] {
    const std::string stat = read_file("/proc/" + std::to_string(run.pid()) + "/stat");
    return stat[stat.rfind(')') + 2];
  };
  for (const auto deadline = soon(); state() != 'T';) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::sleep_for(10ms);
  }
  data_.add("go", "");
  ::kill(run.pid(), SIGCONT);
  const auto end = run.wait(soon());
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 0);
  EXPECT_EQ(tallies(run.output()).size(), 1U) << run.output();
}

TEST_F(Prof, IntermediateTalliesOnASignalAndAtIntervals) {
  Subprocess run = start({"prof", "-j", "--every", "200ms", "--", kProgram, "11", "--wait", data_.file("go")});
  ASSERT_TRUE(run.wait_for_output("\"units\"", soon())) << run.output();
  ::kill(run.pid(), SIGUSR1);
  for (const auto deadline = soon(); tallies(run.output()).size() < 3;) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    static_cast<void>(run.wait_for_output("no such text", std::chrono::steady_clock::now() + 50ms));
  }
  EXPECT_TRUE(is_running(run.pid()));
  data_.add("go", "");
  ASSERT_TRUE(run.wait(soon()));
  for (const Json& tally : tallies(run.output())) EXPECT_EQ(calls_of(tally, "work"), 11);
}

TEST_F(Prof, ASessionIsControlledFromOutside) {
  Subprocess run = start({"prof", "-j", "--paused", "--", kProgram, "11", "--wait", data_.file("go")});
  ASSERT_TRUE(run.wait_for_output("ready", soon()));
  const std::string pid = std::to_string(run.pid());
  const auto ticks = [&] {
    const CommandResult dump = this->run({"prof", "-j", "--control", "dump", pid});
    EXPECT_EQ(dump.code, 0) << dump.output;
    return calls_of(only_tally(dump), "tick");
  };
  EXPECT_EQ(ticks(), 0);
  ASSERT_EQ(this->run({"prof", "--control", "start", pid}).code, 0);
  for (const auto deadline = soon(); ticks() == 0;) ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  ASSERT_EQ(this->run({"prof", "--control", "stop", pid}).code, 0);
  std::this_thread::sleep_for(20ms);  // a tick that had begun
  const int stopped = ticks();
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(ticks(), stopped);
  data_.add("go", "");
  ASSERT_TRUE(run.wait(soon()));
  const std::vector<Json> found = tallies(run.output());
  ASSERT_EQ(found.size(), 1U) << run.output();
  EXPECT_EQ(calls_of(found.front(), "tick"), stopped);
  EXPECT_EQ(calls_of(found.front(), "work"), 0);
}

TEST_F(Prof, FilesBesideTheTally) {
  const TemporaryFolder folder;
  const CommandResult result = run({"prof", "--by", "op,size", "--percentiles", "-l", folder.file("trace.json"),
                                    "--csv", folder.file("rows.csv"), "--folded", folder.file("stacks"),
                                    "--analysis-output", folder.file("tally"), "--", kProgram, "50"});
  EXPECT_EQ(result.code, 0);
  EXPECT_FALSE(Json::parse(read_file(folder.file("trace.json")), nullptr, false).is_discarded());
  EXPECT_GT(count(read_file(folder.file("rows.csv")), "\n"), 3);
  EXPECT_NE(read_file(folder.file("stacks")).find("work "), std::string::npos);
  const std::string tally = read_file(folder.file("tally"));
  EXPECT_NE(tally.find("work | "), std::string::npos) << tally;
  EXPECT_NE(tally.find("allreduce"), std::string::npos) << tally;
  EXPECT_EQ(result.output.find("BACKEND_TEST"), std::string::npos) << result.output;
}

TEST_F(Prof, AnOutputThatCannotBeWrittenIsNamedAndShownInstead) {
  const CommandResult result = run({"prof", "-j", "--analysis-output", "/proc/none/tally", "--timeline",
                                    "/proc/none/trace", "--", kProgram, "5", "--exit", "4"});
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(count(result.output, "cannot write /proc/none/tally"), 1) << result.output;
  EXPECT_EQ(count(result.output, "timeline not written: cannot write /proc/none/trace"), 1) << result.output;
  EXPECT_EQ(calls_of(only_tally(result), "work"), 5);
}

TEST_F(Prof, EventsAsLinesOfText) {
  const CommandResult result = run({"prof", "-t", "--", kProgram, "9"});
  EXPECT_EQ(count(result.output, "BACKEND_TEST host work: { dur: 1000, size: 8 }\n"), 9) << result.output;
  EXPECT_EQ(count(result.output, "tutti: session kept in " + data_.path().string()), 1) << result.output;
}

TEST_F(Prof, KeptSessionsAreReadAgain) {
  const TemporaryFolder folder;
  const std::string before = folder.file("before");
  const std::string after = folder.file("after");
  const CommandResult first = run({"prof", "--no-analysis", "--trace-output", before, "--", kProgram, "5"});
  EXPECT_EQ(first.output, "tutti: session kept in " + before + "\n");
  EXPECT_EQ(run({"prof", "--trace-output", after, "--", kProgram, "6"}).code, 0);
  EXPECT_EQ(calls_of(only_tally(run({"prof", "-j", "-r"})), "work"), 6);
  EXPECT_EQ(calls_of(only_tally(run({"prof", "-j", "-r", before})), "work"), 5);
  EXPECT_EQ(calls_of(only_tally(run({"tally", "-j"})), "work"), 6);
  EXPECT_EQ(calls_of(only_tally(run({"tally", "-j", before, after})), "work"), 11);
  EXPECT_EQ(calls_of(only_tally(run({"tally", "-j", before, "--function", "t*"})), "work"), 0);
  EXPECT_EQ(calls_of(only_tally(run({"tally", "-j", before, "--function", "w?rk"})), "work"), 5);
  EXPECT_EQ(calls_of(only_tally(run({"tally", "-j", before, "--min-size", "9"})), "work"), 0);
  EXPECT_NE(run({"tally", before, "--op", "none"}).output.find("The filter leaves out everything"), std::string::npos);
  const CommandResult compared = run({"tally", "--compare", before, after});
  EXPECT_EQ(compared.code, 0) << compared.output;
  EXPECT_NE(compared.output.find("work"), std::string::npos) << compared.output;
  const CommandResult again = run({"prof", "--trace-output", before, "--", kProgram, "5", "--exit", "4"});
  EXPECT_EQ(again.code, 4);
  EXPECT_NE(again.output.find("is not an empty folder"), std::string::npos) << again.output;
  EXPECT_EQ(run({"tally", folder.path()}).code, 1);
}

TEST_F(Prof, FoldersOfKilledProfilersAreSwept) {
  Subprocess killed = start({"prof", "--", kProgram, "11", "--wait", data_.file("never")});
  ASSERT_TRUE(killed.wait_for_output("ready", soon()));
  const std::vector<pid_t> programs = children_of(killed.pid());
  ::kill(killed.pid(), SIGKILL);
  ASSERT_TRUE(killed.wait(soon()));
  EXPECT_TRUE(all_gone(programs));
  EXPECT_FALSE(fs::is_empty(temporary_.path()));
  EXPECT_EQ(run({"prof", "-j", "--", kProgram, "1"}).code, 0);
}

/// A launcher, and its command line for some ranks.
struct Launcher {
  const char* name;
  const char* spec;  ///< of `tutti run`; nullptr: its own launcher
};

class ProfUnderLaunchers : public Prof, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("native")) return;
    const CommandResult probe = run_tutti({"run", "-n", "1", "--backend", GetParam(), "--", "true"});
    for (const char* absence : {"no launcher of", "unknown backend"}) {
      if (probe.output.find(absence) != std::string::npos) TUTTI_SKIP_OR_FAIL(GetParam(), probe.output);
    }
    ASSERT_EQ(probe.code, 0) << probe.output;
  }
  static Words launch(int ranks) { return {"run", "-n", std::to_string(ranks), "--backend", GetParam(), "--"}; }
  /// `tutti prof` inside the launcher, in front of a shell command. R is the rank.
  static Words inside(int ranks, const Words& options, const std::string& script) {
    Words words = launch(ranks);
    const Words prof = tutti({"prof", "-j"});
    words.insert(words.end(), prof.begin(), prof.end());
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "sh", "-c", kRank + script});
    return words;
  }
  inline static const std::string kRank = "R=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$RANK}}; ";
};

TEST_P(ProfUnderLaunchers, OneTallyInFrontOfTheLauncher) {
  Words words = {"prof", "-j", "--"};
  const Words launcher = tutti(launch(3));
  words.insert(words.end(), launcher.begin(), launcher.end());
  words.insert(words.end(), {"sh", "-c", kRank + kProgram + " 10$R"});
  EXPECT_EQ(calls_of(only_tally(run(words)), "work"), 100 + 101 + 102);
}

TEST_P(ProfUnderLaunchers, OneTallyInsideTheLauncher) {
  const CommandResult result = run(inside(3, {}, kProgram + " 10$R"));
  EXPECT_EQ(calls_of(only_tally(result), "work"), 100 + 101 + 102) << result.output;
  EXPECT_EQ(result.output.find("did not come"), std::string::npos) << result.output;
}

TEST_P(ProfUnderLaunchers, TheFirstRankWaitsForTheOthers) {
  const CommandResult result = run(inside(2, {}, "[ $R = 0 ] || sleep 1; " + kProgram + " 10$R"));
  EXPECT_EQ(calls_of(only_tally(result), "work"), 201) << result.output;
}

TEST_P(ProfUnderLaunchers, SeveralSessionsOfOneScript) {
  const std::string prof = shell_text(tutti({"prof", "-j", "--"}));
  Words words = launch(3);
  words.insert(
      words.end(),
      {"sh", "-c", kRank + prof + kProgram + " 1$R; " + prof + kProgram + " 2$R; " + prof + kProgram + " 3$R"});
  const std::vector<Json> found = tallies(run(words).output);
  ASSERT_EQ(found.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(calls_of(found[i], "work"), 30 * static_cast<int>(i + 1) + 3);
}

TEST_P(ProfUnderLaunchers, TwoJobsAtOnce) {
  Subprocess first = start(inside(2, {}, kProgram + " 10$R"));
  Subprocess second = start(inside(2, {}, kProgram + " 20$R"));
  ASSERT_TRUE(first.wait(soon(120s)));
  ASSERT_TRUE(second.wait(soon(120s)));
  ASSERT_EQ(tallies(first.output()).size(), 1U) << first.output();
  ASSERT_EQ(tallies(second.output()).size(), 1U) << second.output();
  EXPECT_EQ(calls_of(tallies(first.output()).front(), "work"), 201);
  EXPECT_EQ(calls_of(tallies(second.output()).front(), "work"), 401);
}

TEST_P(ProfUnderLaunchers, TheExitCodeReachesTheLauncher) {
  const CommandResult result = run(inside(2, {}, kProgram + " 1; exit 9"));
  EXPECT_EQ(result.code, 9) << result.output;
}

INSTANTIATE_TEST_SUITE_P(All, ProfUnderLaunchers, testing::Values("native", "mpi:openmpi", "mpi:mpich", "mpi:intel"),
                         [](const auto& test) {
                           const std::string name = test.param;
                           return name.starts_with("mpi:") ? name.substr(4) : name;
                         });

class ProfRanks : public Prof {
 protected:
  static Words inside(int ranks, const Words& options, const std::string& script) {
    Words words = {"run", "-n", std::to_string(ranks), "--"};
    words.insert(words.end(), {"sh", "-c", "R=$RANK; " + script});
    const std::string prof = shell_text(tutti({"prof", "-j"})) + shell_text(options) + "-- ";
    std::string& text = words.back();
    for (std::size_t at = text.find("PROF "); at != std::string::npos; at = text.find("PROF "))
      text.replace(at, 5, prof);
    return words;
  }
};

TEST_F(ProfRanks, RanksThatNeverComeAreNamed) {
  const CommandResult result = run(inside(3, {"--wait", "1s"}, "[ $R = 1 ] && exit 0; PROF " + kProgram + " 10$R"));
  EXPECT_EQ(calls_of(only_tally(result), "work"), 202);
  EXPECT_EQ(count(result.output, "rank 1 of 3 did not come"), 1) << result.output;
}

TEST_F(ProfRanks, WithoutTheFirstRankTheNextOneReports) {
  const CommandResult result = run(inside(3, {"--wait", "1s"}, "[ $R = 0 ] && exit 0; PROF " + kProgram + " 10$R"));
  EXPECT_EQ(calls_of(only_tally(result), "work"), 203);
  EXPECT_EQ(count(result.output, "rank 0 of 3 did not come"), 1) << result.output;
}

TEST_F(ProfRanks, ARankThatIsKilledTogetherWithItsProfilerIsNamed) {
  // Rank 1 ends as others see it only when its profiler is dead.
  const std::string died = data_.file("died");
  const CommandResult result = run(inside(2, {},
                                          "if [ $R = 1 ]; then PROF sh -c '" + kProgram + " 7; kill -9 $PPID' ; : >" +
                                              died + "; exit 0; fi; PROF sh -c '" + kProgram + " 10; while [ ! -e " +
                                              died + " ]; do sleep 0.02; done'"));
  EXPECT_EQ(calls_of(only_tally(result), "work"), 17);
  EXPECT_EQ(count(result.output, "rank 1 of 2 died together with tutti prof"), 1) << result.output;
}

TEST_F(ProfRanks, ARankThatFailsDoesNotWaitForTheOthers) {
  // Rank 1 would never end by itself; the launcher ends it because rank 0 failed.
  const CommandResult result = run(inside(2, {},
                                          "if [ $R = 0 ]; then PROF " + kProgram + " 10 --exit 5; exit $?; fi; PROF " +
                                              kProgram + " 20 --wait " + data_.file("never")));
  EXPECT_EQ(result.code, 5);
  EXPECT_GE(calls_of(only_tally(result), "work"), 10);
}

TEST_F(ProfRanks, TheTallyComesWhenTheLauncherEndsTheJob) {
  const CommandResult result = run(inside(2, {},
                                          "if [ $R = 0 ]; then exec PROF " + kProgram + " 10 --wait " +
                                              data_.file("never") + "; fi; exec PROF " + kProgram + " 20 --exit 5"));
  EXPECT_EQ(result.code, 5) << result.output;
  EXPECT_EQ(tallies(result.output).size(), 1U) << result.output;
}

}  // namespace
}  // namespace tutti::test

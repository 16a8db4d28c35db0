#include <gtest/gtest.h>

#include "support.hpp"

namespace tutti::test {
namespace {

void expect(const Words& words, int code, const std::string& part) {
  const CommandResult result = run_tutti(words);
  EXPECT_EQ(result.code, code) << result.output;
  EXPECT_NE(result.output.find(part), std::string::npos) << "expected \"" << part << "\" in:\n" << result.output;
}

TEST(Command, VersionAndHelp) {
  expect({"--version"}, 0, "tutti ");
  expect({"--help"}, 0, "Commands:");
  expect({"run", "--help"}, 0, "Exit codes:");
  expect({"run", "--help"}, 0, "Backends:\n  native");
  expect({"sweep", "--help"}, 0, "--sizes");
  expect({"sweep", "--help"}, 0, "Backends:\n  native");
  expect({"info", "--help"}, 0, "--config");
  expect({}, 2, "Commands:");
}

TEST(Command, MistakesAreNamed) {
  expect({"swep"}, 2, "did you mean \"tutti sweep\"?");
  expect({"test"}, 2, "./tutti test");
  expect({"--verison"}, 2, "--version");
  expect({"run", "--", "true"}, 2, "-n");
  expect({"run", "-n", "2"}, 2, "PROGRAM");
  expect({"run", "-n", "x", "--", "true"}, 2, "1 to 4096");
  expect({"run", "-n", "2", "--tiemout", "5", "--", "true"}, 2, "--timeout");
  expect({"run", "-n", "2", "--backend", "mip", "--", "true"}, 2, "accepted: native, ");
  expect({"run", "-n", "2", "--timeout", "soon", "--", "true"}, 2, "5min");
  expect({"run", "-n", "2", "--env", "A", "--", "true"}, 2, "NAME=VALUE");
  expect({"sweep", "--sizes", "4M..1M"}, 2, "1M..512M");
  expect({"sweep", "--ops", "allredcue"}, 2, "allreduce");
  expect({"sweep", "--ops", "barrier"}, 2, "reduce_scatter");
  expect({"sweep", "--dtype", "float"}, 2, "float32");
  expect({"sweep", "--backends", "gloo"}, 2, "accepted: native, ");
  expect({"sweep", "--device", "gpu:0"}, 2, "--device");
  expect({"sweep", "--device", "gpu"}, 2, "host");
  expect({"sweep", "--device", "host,"}, 2, "--device");
  expect({"sweep", "--json", "/no/such/folder/x.json"}, 2, "/no/such/folder");
  expect({"info", "extra"}, 2, "extra");
}

TEST(Info, ShowsBackendsLaunchersAndDevices) {
  expect({"info"}, 0, "allreduce");
  expect({"info"}, 0, "tutti run");
  expect({"info"}, 0, "SIMD");
}

TEST(Info, ConfigTellsWhereAValueCameFromAndKeepsSecrets) {
  const CommandResult result =
      run_tutti({"info", "--config"},
                {{"TUTTI_BACKEND", "native"}, {"TUTTI_JOB_SECRET", "do-not-show"}, {"TUTTI_BAKCEND", "mpi"}});
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("environment"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("do-not-show"), std::string::npos);
  EXPECT_NE(result.output.find("warning: TUTTI_BAKCEND"), std::string::npos) << result.output;
}

TEST(Info, ConfigKnowsTheVariablesOfTheCommand) {
  const CommandResult result = run_tutti(
      {"info", "--config"}, {{"TUTTI_SWEEP_FAULT", "hang@1K:native"}, {"TUTTI_INTEL_MPI_ROOT", "/no/such/folder"}});
  EXPECT_EQ(result.code, 0) << result.output;
  // There may be warnings about other variables, such as those of the tests.
  EXPECT_EQ(result.output.find("warning: TUTTI_SWEEP_FAULT"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("warning: TUTTI_INTEL_MPI_ROOT"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("hang@1K:native"), std::string::npos) << result.output;
  // The module of that library knows the variable.
  if (run_tutti({"info"}).output.find("mpi:intel") != std::string::npos) {
    EXPECT_NE(result.output.find("/no/such/folder"), std::string::npos) << result.output;
  }
}

TEST(Info, NativeShowsTheWayOfEverySize) {
  const CommandResult result = run_tutti({"info", "--native", "--ranks", "4"});
  EXPECT_EQ(result.code, 0) << result.output;
  for (const char* part : {"4 ranks", "allreduce", "send, recv", "mailbox", "rings", "direct", "a ring holds",
                           "Chunks from core to core"}) {
    EXPECT_NE(result.output.find(part), std::string::npos) << "expected \"" << part << "\" in:\n" << result.output;
  }
  const CommandResult document = run_tutti({"info", "--native", "--json"});
  EXPECT_EQ(document.code, 0) << document.output;
  for (const char* part :
       {"\"native\"", "\"ways\"", "\"operation\": \"message\"", "\"past_caches_above\"", "\"moves\""}) {
    EXPECT_NE(document.output.find(part), std::string::npos) << "expected " << part << " in:\n" << document.output;
  }
}

TEST(Info, RanksAreThoseOfTheNativeEngine) {
  expect({"info", "--ranks", "4"}, 2, "--native");
  expect({"info", "--native", "--ranks", "1"}, 2, "--ranks");
}

TEST(Info, ABadVariableIsNamed) {
  const CommandResult result = run_tutti({"info", "--config"}, {{"TUTTI_STRICT", "perhaps"}});
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.output.find("TUTTI_STRICT"), std::string::npos) << result.output;
}

TEST(Command, SaysThatItsResultCouldNotBeWritten) {
  for (const char* command : {"info", "info --json", "info --config", "info --native", "topo", "topo --json"}) {
    const CommandResult result =
        run_command({"sh", "-c", std::string(TUTTI_COMMAND " ") + command + " > /dev/full"}, {}, 120s);
    EXPECT_EQ(result.code, 1) << command;
    EXPECT_EQ(result.output, "tutti: cannot write to the standard output: No space left on device\n") << command;
  }
}

}  // namespace
}  // namespace tutti::test

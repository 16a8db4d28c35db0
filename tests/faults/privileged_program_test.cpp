// A program with privileges of its own (here set-group-ID) takes nothing from the environment of its caller.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "support/system/subprocess.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

constexpr gid_t kOtherGroup = 65534;

CommandResult run(const std::filesystem::path& program) {
  return run_command({program.string()}, {{"TUTTI_TIMEOUT", "7s"}, {"TUTTI_MODULE_PATH", "/nowhere"}, {"RANK", "0"}},
                     60s);
}

TEST(PrivilegedProgram, ReadsNoEnvironment) {
  const CommandResult plain = run(TUTTI_TEST_PRIVILEGED_PROGRAM);
  for (const char* line : {"secure=0", "timeout from environment", "modules from environment", "rank 0"}) {
    EXPECT_NE(plain.output.find(line), std::string::npos) << plain.output;
  }

  const TemporaryFolder folder;
  const std::filesystem::path program = folder.path() / "program";
  std::filesystem::copy_file(TUTTI_TEST_PRIVILEGED_PROGRAM, program);
  if (chown(program.c_str(), static_cast<uid_t>(-1), kOtherGroup) != 0) {
    GTEST_SKIP() << "this user cannot make a set-group-ID program: " << std::strerror(errno);
  }
  ASSERT_EQ(chmod(program.c_str(), 02755), 0) << std::strerror(errno);
  const CommandResult result = run(program);
  if (result.output.find("secure=0") != std::string::npos) {
    GTEST_SKIP() << "the system gives no privileges to set-group-ID programs in " << folder.path();
  }
  for (const char* line : {"secure=1", "timeout from default", "modules from default", "rank hidden",
                           "config: world(): this program is set-user-ID"}) {
    EXPECT_NE(result.output.find(line), std::string::npos) << result.output;
  }
}

}  // namespace
}  // namespace tutti::test

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "session/file_layout.hpp"
#include "session_test_support.hpp"

namespace tutti::profiling {
namespace {

using test::TemporaryFolder;

std::string error_of(const std::filesystem::path& folder) {
  try {
    static_cast<void>(read_session(folder));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

/// The session of one process with 2000 operations, in 1 block of rows and 6 of events.
class OneProcess : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run_recorded(folder_, {"operations", "2000"}).code, 0);
    file_ = std::filesystem::directory_iterator(folder_.path())->path();
  }
  template <typename Number>
  void store(std::size_t offset, Number number) {
    std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(reinterpret_cast<const char*>(&number), sizeof number);
  }
  /// The only warning, or a text that says how many there are.
  std::string warning() {
    profile_ = read_session(folder_.path());
    const auto& warnings = profile_.warnings;
    return warnings.size() == 1 ? warnings[0] : std::to_string(warnings.size()) + " warnings";
  }

  TemporaryFolder folder_;
  std::filesystem::path file_;
  Profile profile_;
};

TEST_F(OneProcess, IsReadWhole) {
  EXPECT_EQ(warning(), "0 warnings");
  ASSERT_EQ(profile_.events.size(), 2000U);
  EXPECT_EQ(profile_.names.at(profile_.events[1999].name), "operation");
  EXPECT_EQ(profile_.events[1999].begin_ns, 199'900U);
  EXPECT_EQ(profile_.processes.at(0).end_ns, 199'910U);
  EXPECT_NE(profile_.processes.at(0).command.find("operations 2000"), std::string::npos);
}

TEST_F(OneProcess, ThatIsCutOffKeepsWhatIsThere) {
  std::filesystem::resize_file(file_, 6 * layout::kBlockBytes + 5000);
  EXPECT_NE(warning().find("cut off"), std::string::npos) << warning();
  EXPECT_GT(profile_.events.size(), 300U);
  EXPECT_LT(profile_.events.size(), 2000U);
  EXPECT_EQ(calls_by_name(profile_)["operation"], 2000U) << "rows come before events";
  EXPECT_FALSE(profile_.processes.at(0).problem.empty());
}

TEST_F(OneProcess, WithoutAWholeHeaderIsLeftOut) {
  std::filesystem::resize_file(file_, 100);
  EXPECT_NE(warning().find("cut off within its header"), std::string::npos) << warning();
  EXPECT_TRUE(profile_.processes.empty());
  std::filesystem::resize_file(file_, 0);
  EXPECT_NE(warning().find("cut off within its header"), std::string::npos) << warning();
}

TEST_F(OneProcess, OfAnotherVersionOrFormatIsLeftOut) {
  store(offsetof(layout::Header, version), 77);
  EXPECT_NE(warning().find("version 77"), std::string::npos) << warning();
  store(0, std::uint64_t{1});
  EXPECT_NE(warning().find("not a file of a tutti profiling session"), std::string::npos) << warning();
  EXPECT_TRUE(profile_.processes.empty());
}

TEST_F(OneProcess, WithAbsurdCountsIsNotBelieved) {
  store(offsetof(layout::Header, blocks), UINT32_MAX);
  std::filesystem::resize_file(file_, std::uint64_t{1} << 40);
  EXPECT_NE(warning().find("damaged"), std::string::npos) << warning();
  EXPECT_EQ(profile_.events.size(), 2000U);
  // The first block after the header is of descriptions.
  store(layout::kBlockBytes + offsetof(layout::BlockHeader, used), UINT32_MAX);
  EXPECT_NE(warning().find("damaged"), std::string::npos) << warning();
  EXPECT_EQ(profile_.events.size(), 2000U);
}

TEST_F(OneProcess, WhoseNamesAreDamagedKeepsItsCounts) {
  store(layout::kBlockBytes + sizeof(layout::BlockHeader) + offsetof(layout::Entry, entry_bytes), std::uint16_t{3});
  EXPECT_NE(warning().find("names are missing"), std::string::npos) << warning();
  EXPECT_EQ(calls_by_name(profile_), (std::map<std::string, std::uint64_t>{{"", 2000}}));
}

TEST(SessionReader, MergesProcessesAndTheirDescriptions) {
  const TemporaryFolder folder;
  for (const char* rank : {"0", "1", "2"}) {
    ASSERT_EQ(run_recorded(folder, {"random", "5", "2", "300"}, {{"PMI_RANK", rank}, {"PMI_SIZE", "3"}}).code, 0);
  }
  ASSERT_EQ(run_recorded(folder, {"contexts", "3"}).code, 0);
  const Profile profile = read_session(folder.path());
  EXPECT_EQ(profile.warnings, std::vector<std::string>());
  ASSERT_EQ(profile.processes.size(), 4U);
  EXPECT_EQ(profile.sources.size(), 1U);
  EXPECT_EQ(profile.contexts.size(), 4U + 3U);
  EXPECT_EQ(std::count(profile.names.begin(), profile.names.end(), "call 0"), 1);
  std::vector<int> ranks;
  for (const ProcessRow& process : profile.processes) ranks.push_back(process.rank);
  std::sort(ranks.begin(), ranks.end());
  EXPECT_EQ(ranks, (std::vector<int>{-1, 0, 1, 2}));
}

TEST(SessionReader, ReadsWhileTheFileGrows) {
  const TemporaryFolder folder;
  test::Subprocess process({TUTTI_TEST_SESSION_PROGRAM, "flood"},
                           {{"TUTTI_PROF_SESSION", folder.path().string()}, {"TUTTI_PROF_TIMELINE", "1"}});
  ASSERT_TRUE(process.wait_for_output("begun", std::chrono::steady_clock::now() + kSessionDeadline));
  std::size_t last = 0;
  for (int i = 0; i < 10; ++i) {
    const Profile profile = read_session(folder.path());
    EXPECT_EQ(profile.warnings, std::vector<std::string>());
    EXPECT_GE(profile.events.size(), last);
    EXPECT_GE(profile.processes.at(0).records, profile.events.size());
    last = profile.events.size();
    for (const EventRow& event : profile.events) ASSERT_NE(profile.names.at(event.name), "");
  }
  process.kill(SIGKILL);
}

TEST(SessionReader, FolderWithoutASessionIsAnError) {
  const TemporaryFolder folder;
  EXPECT_NE(error_of(folder.path()).find("holds no profiling session"), std::string::npos) << error_of(folder.path());
  EXPECT_NE(error_of(folder.path()).find(folder.path().string()), std::string::npos);
  EXPECT_NE(error_of(folder.path() / "none").find("cannot be read"), std::string::npos);
  // A link or a pipe instead of a file must neither be followed nor waited for.
  std::filesystem::create_symlink("/dev/zero", folder.file("link.tuttiprof"));
  ASSERT_EQ(mkfifo(folder.file("pipe.tuttiprof").c_str(), 0600), 0);
  EXPECT_EQ(read_session(folder.path()).warnings.size(), 2U);
}

}  // namespace
}  // namespace tutti::profiling

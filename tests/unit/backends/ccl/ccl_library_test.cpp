#include "ccl_library.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "ccl_mpi.hpp"
#include "creation/ccl_environment.hpp"
#include "support/system/temporary_folder.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::ccl {
namespace {

namespace fs = std::filesystem;

EnvironmentLookup environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

std::optional<std::string> value_of(const std::vector<Variable>& variables, const std::string& name) {
  const auto found = std::ranges::find(variables, name, &Variable::name);
  return found == variables.end() ? std::nullopt : std::optional(found->value);
}

class CclFolder : public testing::Test {
 protected:
  void add(const fs::path& file, const std::string& text = "not a library") { folder_.add(file, text); }

  test::TemporaryFolder folder_;
  const fs::path& root_ = folder_.path();
};

TEST(CclCandidates, AFolderThatTheUserChoseIsTheOnlyOne) {
  const auto variables = environment({{"CCL_ROOT", "/theirs"}});
  EXPECT_EQ(library_candidates({.root = "/mine", .root_is_chosen = true, .bridge = ""}, variables),
            std::vector<std::string>{"/mine/lib/libccl.so.1"});
  EXPECT_EQ(library_candidates({.root = "/built", .root_is_chosen = false, .bridge = ""}, variables),
            (std::vector<std::string>{"/theirs/lib/libccl.so.1", "/built/lib/libccl.so.1", "libccl.so.1"}));
  EXPECT_EQ(library_candidates({.root = "", .root_is_chosen = false, .bridge = ""}, environment({})),
            std::vector<std::string>{"libccl.so.1"});
}

TEST_F(CclFolder, AMissingLibraryIsNamed) {
  const Library library =
      open_library({.root = root_.string(), .root_is_chosen = true, .bridge = "none"}, environment({}));
  EXPECT_EQ(library.bridge, nullptr);
  EXPECT_NE(library.failure.find("TUTTI_ONECCL_ROOT"), std::string::npos) << library.failure;
  EXPECT_NE(library.failure.find((root_ / "lib/libccl.so.1").string()), std::string::npos) << library.failure;
}

TEST_F(CclFolder, AFileThatIsNoLibraryIsRefused) {
  add("lib/libccl.so.1", std::string(4096, 'x'));
  const Library library =
      open_library({.root = root_.string(), .root_is_chosen = true, .bridge = "none"}, environment({}));
  EXPECT_EQ(library.bridge, nullptr);
  const std::string reason = (root_ / "lib/libccl.so.1").string() + ": invalid ELF header";
  EXPECT_NE(library.failure.find(reason), std::string::npos) << library.failure;
}

TEST_F(CclFolder, ALibraryThatIsNotOneCclIsRefused) {
  fs::create_directories(root_ / "lib");
  // A library that loads, but is not oneCCL and has none of the bridge's symbols.
  fs::copy_file(TUTTI_TEST_OTHER_LIBRARY, root_ / "lib/libccl.so.1");
  const Library library = open_library(
      {.root = root_.string(), .root_is_chosen = true, .bridge = TUTTI_TEST_OTHER_LIBRARY}, environment({}));
  EXPECT_EQ(library.bridge, nullptr);
  EXPECT_NE(library.failure.find("another build of tutti"), std::string::npos) << library.failure;
}

TEST_F(CclFolder, ACInterfaceThatIsNotThereIsSaidToBeAskedFor) {
  const LibraryPlaces places = {.root = root_.string(), .root_is_chosen = true, .bridge = "none", .api = ApiKind::c};
  EXPECT_EQ(library_candidates(places, environment({})),
            std::vector<std::string>{(root_ / "lib/libccl.so.2").string()});
  const Library missing = open_library(places, environment({}));
  EXPECT_FALSE(missing.is_usable());
  for (const char* word : {"TUTTI_CCL_API=c", "TUTTI_ONECCL_ROOT", "lib/libccl.so.2"}) {
    EXPECT_NE(missing.failure.find(word), std::string::npos) << missing.failure;
  }
  fs::create_directories(root_ / "lib");
  fs::copy_file(TUTTI_TEST_OTHER_LIBRARY, root_ / "lib/libccl.so.2");
  const Library other = open_library(places, environment({}));
  EXPECT_FALSE(other.is_usable());
  for (const char* word : {"TUTTI_CCL_API=c", "lib/libccl.so.2", "the library lacks oneccl"}) {
    EXPECT_NE(other.failure.find(word), std::string::npos) << other.failure;
  }
}

TEST(CclNeeded, TheLibrariesOfAnObjectAreRead) {
  const std::vector<std::string> needed = needed_libraries("/proc/self/exe");
  EXPECT_TRUE(std::ranges::any_of(needed, [](const std::string& name) { return name.starts_with("libtutti.so"); }))
      << testing::PrintToString(needed);
  EXPECT_TRUE(std::ranges::any_of(needed, [](const std::string& name) { return name.starts_with("libc.so"); }));
  EXPECT_TRUE(needed_libraries("/etc/passwd").empty());
  EXPECT_TRUE(needed_libraries("/no/such/file").empty());
}

TEST_F(CclFolder, VariablesFollowTheMachine) {
  add("lib/libfabric.so.1");
  add("lib/libtcp-fi.so");
  const Surroundings here = {.directory = (root_ / "lib").string(),
                             .local_rank = 1,
                             .local_size = 2,
                             .cores = 2,
                             .has_level_zero = false,
                             .has_network = false};
  const auto all = variables_for(here, environment({}));
  EXPECT_EQ(value_of(all, "CCL_ATL_TRANSPORT"), "ofi");
  EXPECT_EQ(value_of(all, "CCL_MPI_LIBRARY_PATH"), "/dev/null");
  EXPECT_EQ(value_of(all, "CCL_PROCESS_LAUNCHER"), "none");
  EXPECT_EQ(value_of(all, "CCL_LOCAL_RANK"), "1");
  EXPECT_EQ(value_of(all, "CCL_LOCAL_SIZE"), "2");
  EXPECT_EQ(value_of(all, "CCL_LOG_LEVEL"), "error");
  EXPECT_EQ(value_of(all, "CCL_WORKER_OFFLOAD"), "1");
  EXPECT_EQ(value_of(all, "CCL_ZE_ENABLE"), "0");
  EXPECT_EQ(value_of(all, "CCL_KVS_IFACE"), "lo");
  EXPECT_EQ(value_of(all, "CCL_YIELD"), "sched_yield");
  EXPECT_EQ(value_of(all, "CCL_ROOT"), root_.string());
  EXPECT_EQ(value_of(all, "CCL_OFI_LIBRARY_PATH"), (root_ / "lib/libfabric.so.1").string());
  EXPECT_EQ(value_of(all, "FI_PROVIDER_PATH"), (root_ / "lib").string());

  const Surroundings roomy = {.directory = "", .local_size = 2, .cores = 4, .has_level_zero = true};
  const auto few = variables_for(roomy, environment({}));
  for (const char* name : {"CCL_ZE_ENABLE", "CCL_KVS_IFACE", "CCL_YIELD", "CCL_ROOT", "CCL_OFI_LIBRARY_PATH"}) {
    EXPECT_EQ(value_of(few, name), std::nullopt) << name;
  }
}

TEST(CclEnvironment, TheStoreOfAJobOnOneHostListensOnTheLoopbackInterface) {
  Surroundings here = {.directory = "", .local_size = 2, .same_host = true};
  EXPECT_EQ(value_of(variables_for(here, environment({})), "CCL_KVS_IFACE"), "lo");
  EXPECT_EQ(value_of(variables_for(here, environment({})), "FI_TCP_IFACE"), "lo");
  here.mpi_library = "/mpi/lib/libmpi.so.12";
  EXPECT_EQ(value_of(variables_for(here, environment({})), "FI_TCP_IFACE"), std::nullopt) << "Intel MPI decides";
  here = {.directory = "", .local_size = 2, .same_host = false};
  EXPECT_EQ(value_of(variables_for(here, environment({})), "CCL_KVS_IFACE"), std::nullopt);
  EXPECT_EQ(value_of(variables_for(here, environment({})), "FI_TCP_IFACE"), std::nullopt);
}

TEST(CclEnvironment, NothingThatTheUserHasSetIsChanged) {
  const Surroundings here = {.directory = "/root/lib", .local_size = 8, .cores = 1, .has_network = false};
  std::map<std::string, std::string> set;
  for (const Variable& variable : variables_for(here, environment({}))) set[variable.name] = "the user's";
  EXPECT_GE(set.size(), 9U);
  EXPECT_TRUE(variables_for(here, environment(set)).empty());
  // The transport that the user chose may need MPI.
  const auto with_mpi = variables_for(here, environment({{"CCL_ATL_TRANSPORT", "mpi"}}));
  EXPECT_EQ(value_of(with_mpi, "CCL_MPI_LIBRARY_PATH"), std::nullopt);
}

TEST(CclEnvironment, IntelMpiIsTheTransportIfItStartedTheRanks) {
  Surroundings here = {.directory = "/root/lib", .local_size = 2, .cores = 2, .mpi_library = "/mpi/lib/libmpi.so.12"};
  const auto set = variables_for(here, environment({}));
  EXPECT_EQ(value_of(set, "CCL_ATL_TRANSPORT"), "mpi");
  EXPECT_EQ(value_of(set, "CCL_MPI_LIBRARY_PATH"), "/mpi/lib/libmpi.so.12");
  EXPECT_EQ(value_of(set, "CCL_WORKER_OFFLOAD"), "0");
  EXPECT_EQ(value_of(set, "CCL_ALLGATHERV"), "direct");
  EXPECT_TRUE(value_of(set, "I_MPI_ADJUST_IALLGATHERV")) << "waits for ever where one block of large ones is empty";
  EXPECT_EQ(value_of(set, "FI_PROVIDER_PATH"), std::nullopt) << "Intel MPI has its own libfabric";
  EXPECT_TRUE(takes_turns(ApiKind::cpp, environment({{"CCL_ATL_TRANSPORT", "mpi"}, {"CCL_WORKER_OFFLOAD", "0"}})));
  EXPECT_FALSE(takes_turns(ApiKind::cpp, environment({{"CCL_ATL_TRANSPORT", "mpi"}, {"CCL_WORKER_OFFLOAD", "1"}})))
      << "the worker thread makes the progress";

  // The user's transport wins.
  const auto chosen = variables_for(here, environment({{"CCL_ATL_TRANSPORT", "ofi"}}));
  EXPECT_EQ(value_of(chosen, "CCL_MPI_LIBRARY_PATH"), std::nullopt);
  EXPECT_EQ(value_of(chosen, "CCL_WORKER_OFFLOAD"), "1");
  EXPECT_FALSE(takes_turns(ApiKind::cpp, environment({{"CCL_ATL_TRANSPORT", "ofi"}})));

  // With a GPU the worker thread is needed; the C interface stays without MPI.
  here.has_gpu = true;
  EXPECT_EQ(value_of(variables_for(here, environment({})), "CCL_WORKER_OFFLOAD"), "1");
  here.api = ApiKind::c;
  EXPECT_EQ(value_of(variables_for(here, environment({})), "CCL_ATL_TRANSPORT"), "ofi");
  EXPECT_FALSE(takes_turns(ApiKind::c, environment({{"CCL_ATL_TRANSPORT", "mpi"}})));
}

TEST(CclMpi, OnlyIntelsLauncherIsTakenForIt) {
  EXPECT_FALSE(is_started_by_intel_mpi(environment({})));
  // Variables of MPICH's launcher in a shell that has those of Intel's oneAPI.
  EXPECT_FALSE(is_started_by_intel_mpi(environment(
      {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "0"}, {"I_MPI_ROOT", "/opt/intel/oneapi/mpi"}})));
  EXPECT_TRUE(
      is_started_by_intel_mpi(environment({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"I_MPI_HYDRA_UUID", "7ab4"}})));
}

TEST(CclMpi, TheLibraryIsLookedForBelowTheRootAndBesideOneCcl) {
  const std::vector<std::string> expected = {"/mpi/lib/libmpi.so.12", "/mpi/lib/release/libmpi.so.12",
                                             "/ccl/lib/libmpi.so.12", "/ccl/opt/mpi/lib/libmpi.so.12"};
  EXPECT_EQ(mpi_candidates("/ccl/lib", environment({{"I_MPI_ROOT", "/mpi"}})), expected);
}

TEST(CclEnvironment, TheCInterfaceIsGivenItsPlugIn) {
  const auto plain = variables_for({.directory = ""}, environment({}));
  EXPECT_EQ(value_of(plain, "CCL_PLUGIN"), std::nullopt);
  EXPECT_EQ(value_of(plain, "CCL_LOG_FILE"), std::nullopt);
  const Surroundings here = {.directory = "", .api = ApiKind::c};
  const auto set = variables_for(here, environment({}));
  EXPECT_EQ(value_of(set, "CCL_PLUGIN"), "ONECCL_LEGACY_CPU");
  EXPECT_EQ(value_of(set, "CCL_LOG_FILE"), "/dev/null");
  // A user who sets the log level sees the whole log.
  const auto loud = variables_for(here, environment({{"CCL_LOG_LEVEL", "info"}, {"CCL_PLUGIN", "ONECCL_LEGACY"}}));
  EXPECT_EQ(value_of(loud, "CCL_PLUGIN"), std::nullopt);
  EXPECT_EQ(value_of(loud, "CCL_LOG_FILE"), std::nullopt);
}

TEST(CclEnvironment, IsShownAsOneLine) {
  EXPECT_EQ(to_text({{"A", "1"}, {"B", "two"}}), "A=1 B=two");
  EXPECT_EQ(to_text({}), "");
}

}  // namespace
}  // namespace tutti::ccl

// Programs that were linked to NVIDIA's libnccl.so.2 and find the adapter instead.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "nccl_library.hpp"
#include "support/system/subprocess.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

const std::string kAdapter = std::string(TUTTI_TEST_ADAPTER_DIR) + "/libnccl.so.2";

TEST(NcclProgram, RanksAreProcesses) {
  const TemporaryFolder folder;
  for (const auto& environment : std::vector<std::map<std::string, std::string>>{
           {{"LD_LIBRARY_PATH", TUTTI_TEST_ADAPTER_DIR}}, {{"LD_PRELOAD", kAdapter}}}) {
    const std::string file = folder.file(environment.begin()->first);
    std::vector<Subprocess> ranks;
    for (const char* rank : {"0", "1"})
      ranks.emplace_back(std::vector<std::string>{TUTTI_TEST_PROGRAM, rank, "2", file}, environment);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto status = ranks[rank].wait(std::chrono::steady_clock::now() + 60s);
      ASSERT_TRUE(status) << ranks[rank].output();
      EXPECT_EQ(status->code, 0) << ranks[rank].output();
      EXPECT_EQ(ranks[rank].output(), "rank " + std::to_string(rank) + " of 2: 3 with NCCL 23203\n");
    }
  }
}

/// The command sets the variables, and the process of rank 0 reports its operations.
TEST(NcclProgram, CommandBringsTheAdapterIntoAProgram) {
  const TemporaryFolder folder;
  std::vector<Subprocess> ranks;
  for (const char* rank : {"0", "1"}) {
    ranks.emplace_back(std::vector<std::string>{TUTTI_TEST_COMMAND, "preload", "nccl", "--show", "--",
                                                TUTTI_TEST_PROGRAM, rank, "2", folder.file("id")},
                       std::map<std::string, std::string>{{"TUTTI_BACKEND", "native"}});
  }
  for (Subprocess& rank : ranks) {
    const auto status = rank.wait(std::chrono::steady_clock::now() + 60s);
    ASSERT_TRUE(status) << rank.output();
    EXPECT_EQ(status->code, 0) << rank.output();
  }
  EXPECT_NE(ranks[0].output().find("tutti:   ncclAllReduce: 1 by native (0.0 MB)\n"), std::string::npos)
      << ranks[0].output();
  EXPECT_EQ(ranks[1].output(), "rank 1 of 2: 3 with NCCL 23203\n");
}

TEST(NcclProgram, CommandPrintsTheLinesForAScript) {
  const CommandResult lines = run_command({TUTTI_TEST_COMMAND, "preload", "nccl", "--print", "--show"}, {}, 30s);
  EXPECT_EQ(lines.code, 0) << lines.output;
  EXPECT_NE(lines.output.find("export LD_PRELOAD=" + kAdapter + "${LD_PRELOAD:+:$LD_PRELOAD}\n"), std::string::npos)
      << lines.output;
  EXPECT_NE(lines.output.find("export TUTTI_SHOW=1\n"), std::string::npos) << lines.output;
  const CommandResult unknown = run_command({TUTTI_TEST_COMMAND, "preload", "gloo", "--", "true"}, {}, 30s);
  EXPECT_EQ(unknown.code, 2) << unknown.output;
  EXPECT_NE(unknown.output.find("adapter \"gloo\" is unknown; accepted: mpi, nccl"), std::string::npos)
      << unknown.output;
}

TEST(NcclProgram, EveryFunctionOfTheHeaderIsThere) {
  void* const adapter = dlopen(kAdapter.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(adapter, nullptr) << dlerror();
  std::ifstream header(TUTTI_TEST_NCCL_HEADER);
  const std::regex declaration(R"(^[a-zA-Z].*\b(p?nccl[A-Z]\w+) *\()");
  std::set<std::string> names;
  for (std::string line; std::getline(header, line);) {
    std::smatch found;
    if (std::regex_search(line, found, declaration) && line.find("typedef") == std::string::npos)
      names.insert(found[1]);
  }
  EXPECT_GT(names.size(), 140U) << "the header was not understood";
  for (const std::string& name : names) EXPECT_NE(dlsym(adapter, name.c_str()), nullptr) << name;
}

TEST(NcclProgram, TheBackendDoesNotTakeTheAdapterForNccl) {
  void* const adapter = dlopen(kAdapter.c_str(), RTLD_NOW | RTLD_GLOBAL);
  ASSERT_NE(adapter, nullptr) << dlerror();
  const nccl::Library real = nccl::open_library("", {TUTTI_TEST_REAL_NCCL});
  EXPECT_EQ(real.failure, "");
  EXPECT_EQ(real.file, std::string(TUTTI_TEST_REAL_NCCL) + "/libnccl.so.2");
  const nccl::Library none = nccl::open_library(kAdapter, {});
  EXPECT_NE(none.failure.find("is tutti's adapter, not NCCL"), std::string::npos) << none.failure;
}

}  // namespace
}  // namespace tutti::test

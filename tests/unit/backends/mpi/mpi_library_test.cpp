#include "mpi_library.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "launch/mpi_launch.hpp"
#include "mpi_api.hpp"
#include "mpi_threads.hpp"
#include "support/system/temporary_folder.hpp"
#include "tutti/error.hpp"

namespace tutti::mpi {
namespace {

namespace fs = std::filesystem;

EnvironmentLookup environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(MpiLaunch, EachLauncherIsClaimedByItsOwnAbi) {
  const auto open_mpi = environment({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "1"}});
  ASSERT_TRUE(find_launch(Abi::openmpi, open_mpi, false));
  EXPECT_EQ(find_launch(Abi::openmpi, open_mpi, false)->rank, 1);
  EXPECT_EQ(find_launch(Abi::openmpi, open_mpi, false)->size, 4);
  EXPECT_FALSE(find_launch(Abi::mpich, open_mpi, true));

  const auto hydra = environment({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "2"}});
  ASSERT_TRUE(find_launch(Abi::mpich, hydra, false));
  EXPECT_EQ(find_launch(Abi::mpich, hydra, false)->rank, 2);
  EXPECT_EQ(find_launch(Abi::mpich, hydra, false)->size, 3);
  EXPECT_FALSE(find_launch(Abi::openmpi, hydra, false));
}

TEST(MpiLaunch, OpenMpiUnderABatchSystemThatSpeaksPmiStaysOpenMpi) {
  const auto both =
      environment({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}});
  EXPECT_TRUE(find_launch(Abi::openmpi, both, false));
  EXPECT_FALSE(find_launch(Abi::mpich, both, false));
}

TEST(MpiLaunch, PmixAloneIsDecidedByTheLibraryThatIsNamed) {
  const auto pmix = environment({{"PMIX_RANK", "1"}, {"SLURM_NTASKS", "8"}});
  ASSERT_TRUE(find_launch(Abi::openmpi, pmix, false));
  EXPECT_EQ(find_launch(Abi::openmpi, pmix, false)->size, 8);
  EXPECT_FALSE(find_launch(Abi::mpich, pmix, false));
  EXPECT_TRUE(find_launch(Abi::mpich, pmix, true));
  EXPECT_EQ(find_launch(Abi::openmpi, environment({{"PMIX_RANK", "1"}}), false)->size, 0);
}

TEST(MpiLaunch, OneRankInAJobOfSeveralIsRefused) {
  EXPECT_NO_THROW(refuse_singleton(std::nullopt, "MPICH 4.0.2"));
  EXPECT_NO_THROW(refuse_singleton(Launch{0, 1}, "MPICH 4.0.2"));
  EXPECT_NO_THROW(refuse_singleton(Launch{0, 0}, "MPICH 4.0.2"));
  try {
    refuse_singleton(Launch{2, 4}, "MPICH 4.0.2");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::backend_unavailable);
    EXPECT_NE(std::string(error.what()).find("rank 2 of 4, but MPI_COMM_WORLD of MPICH 4.0.2 has one rank"),
              std::string::npos)
        << error.what();
  }
}

TEST(MpiLaunch, NonsenseIsNoLaunch) {
  EXPECT_FALSE(find_launch(Abi::mpich, environment({}), false));
  EXPECT_FALSE(find_launch(Abi::mpich, environment({{"PMI_RANK", "0"}}), false));
  EXPECT_FALSE(find_launch(Abi::mpich, environment({{"PMI_RANK", "3"}, {"PMI_SIZE", "3"}}), false));
  EXPECT_FALSE(find_launch(Abi::mpich, environment({{"PMI_RANK", "-1"}, {"PMI_SIZE", "3"}}), false));
  EXPECT_FALSE(find_launch(Abi::mpich, environment({{"PMI_RANK", "1x"}, {"PMI_SIZE", "3"}}), false));
}

class MpiCandidates : public testing::Test {
 protected:
  std::string add(const fs::path& file) { return folder_.add(file, "not a library"); }

  test::TemporaryFolder folder_;
  const fs::path& root_ = folder_.path();
};

TEST_F(MpiCandidates, TheLaunchersOwnLibraryComesBeforeTheSystems) {
  const std::string beside = add("a/lib/libmpi.so.12");
  const std::string release = add("b/lib/release/libmpi.so.12");
  const auto found = library_candidates(
      Abi::mpich, environment({{"I_MPI_ROOT", (root_ / "b").string()}}),
      {"/usr/bin/bash", root_ / "a/bin/hydra_pmi_proxy", root_ / "a/bin/mpiexec.hydra", root_ / "c/bin/python3"});
  EXPECT_EQ(found, (std::vector<std::string>{beside, release, "libmpi.so.12", "libmpich.so.12"}));
}

TEST_F(MpiCandidates, OnlyLaunchersAndLibrariesOfTheAbiCount) {
  add("a/lib/libmpi.so.12");
  const std::string open_mpi = add("a/lib64/libmpi.so.40");
  EXPECT_EQ(library_candidates(Abi::openmpi, environment({{"I_MPI_ROOT", (root_ / "a").string()}}), {}),
            std::vector<std::string>{"libmpi.so.40"});
  EXPECT_EQ(library_candidates(Abi::openmpi, environment({}), {root_ / "a/bin/mpirun.openmpi"}),
            (std::vector<std::string>{open_mpi, "libmpi.so.40"}));
  EXPECT_EQ(library_candidates(Abi::openmpi, environment({}), {root_ / "a/bin/mpirunner"}),
            std::vector<std::string>{"libmpi.so.40"});
}

TEST_F(MpiCandidates, ALibraryThatIsNamedIsTheOnlyOneTried) {
  const std::string file = add("a/lib/libmpi.so.12");
  for (const Abi abi : {Abi::openmpi, Abi::mpich}) {
    const Library library = open_library(abi, file, environment({}));
    EXPECT_EQ(library.handle, nullptr);
    EXPECT_NE(library.failure.find("TUTTI_MPI_LIBRARY"), std::string::npos) << library.failure;
    EXPECT_NE(library.failure.find(file), std::string::npos) << library.failure;
  }
}

TEST(MpiLibrary, ALibraryThatIsNoMpiIsRefused) {
  const Library library = open_library(Abi::mpich, "libm.so.6", environment({}));
  EXPECT_EQ(library.handle, nullptr);
  EXPECT_NE(library.failure.find("no MPI library"), std::string::npos) << library.failure;
}

TEST(MpiLibrary, VersionsAreShortenedAndToldApart) {
  struct Row {
    const char* text;
    std::optional<Abi> abi;
    const char* version;
  };
  const Row rows[] = {
      {"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", Abi::openmpi, "Open MPI 4.1.4"},
      {"Intel(R) MPI Library 2021.18 for Linux* OS\n", Abi::mpich, "Intel MPI 2021.18"},
      {"MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7", Abi::mpich, "MPICH 4.0.2"},
      {"MVAPICH2 Version      :\t2.3.7\n", Abi::mpich, "MVAPICH2 2.3.7"},
      {"MPI VERSION    : CRAY MPICH version 8.1.25 (ANL base 3.4a2)", Abi::mpich, "Cray MPICH 8.1.25"},
      {"Something else 1.0\nmore", std::nullopt, "Something else 1.0"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(identify_library(row.text).abi, row.abi) << row.text;
    EXPECT_EQ(identify_library(row.text).version, row.version);
  }
}

/// Error text that a second thread gets when it enters the gate now; empty when it may enter.
std::string second_thread(ThreadGate& gate) {
  std::string refusal;
  std::thread([&] {
    try {
      const Entry entry(gate);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_usage);
      refusal = error.what();
    }
  }).join();
  return refusal;
}

TEST(MpiThreads, ASecondThreadIsRefusedWhileOneIsInside) {
  ThreadGate gate;
  gate.set_level(MPI_THREAD_SERIALIZED);
  {
    const Entry outer(gate);
    { const Entry again(gate); }
    const std::string refusal = second_thread(gate);  // the end of the inner Entry must not have opened the gate
    EXPECT_NE(refusal.find("MPI_THREAD_SERIALIZED"), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("need MPI_THREAD_MULTIPLE"), std::string::npos) << refusal;
    std::thread([&] { EXPECT_FALSE(Entry(gate, std::nothrow)); }).join();
    EXPECT_NE(second_thread(gate), "") << "a refused thread opened the gate";
  }
  EXPECT_EQ(second_thread(gate), "");
  EXPECT_TRUE(Entry(gate, std::nothrow)) << "the second thread did not leave";
}

TEST(MpiThreads, OnlyTheMainThreadEntersBelowThreadSerialized) {
  for (const auto& [level, name] :
       {std::pair(MPI_THREAD_SINGLE, "MPI_THREAD_SINGLE"), std::pair(MPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED")}) {
    ThreadGate gate;
    gate.set_level(level);
    const std::string refusal = second_thread(gate);
    EXPECT_NE(refusal.find(name), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("MPI_THREAD_SERIALIZED or more"), std::string::npos) << refusal;
    std::thread([&] { EXPECT_FALSE(Entry(gate, std::nothrow)); }).join();
    const Entry entry(gate);
    EXPECT_TRUE(Entry(gate, std::nothrow));
    EXPECT_NE(second_thread(gate), "");
  }
}

TEST(MpiThreads, AllEnterAtThreadMultiple) {
  ThreadGate gate;
  gate.set_level(MPI_THREAD_MULTIPLE);
  const Entry entry(gate);
  EXPECT_EQ(second_thread(gate), "");
}

}  // namespace
}  // namespace tutti::mpi

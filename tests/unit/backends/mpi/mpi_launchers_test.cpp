#include "launch/mpi_launchers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tutti/spi/module.hpp"

extern "C" const tutti::spi::BackendModule* tutti_backend_module();

namespace tutti::mpi {
namespace {

using Words = std::vector<std::string>;

bool has(const Words& words, const std::string& word) { return std::ranges::find(words, word) != words.end(); }

/// Titles of the launchers that recognise the text.
Words identified(std::string_view version_output) {
  Words titles;
  for (const std::span<const spi::Launcher> launchers :
       {std::span<const spi::Launcher>(kOpenMpiLaunchers), std::span<const spi::Launcher>(kMpichLaunchers)}) {
    for (const spi::Launcher& launcher : launchers) {
      if (launcher.identifies(version_output)) titles.emplace_back(launcher.title);
    }
  }
  return titles;
}

TEST(MpiLaunchers, EachRecognisesItsOwnVersionText) {
  EXPECT_EQ(identified("mpirun (Open MPI) 5.0.3\n"), Words{"Open MPI"});
  EXPECT_EQ(identified("mpirun.openmpi (OpenRTE) 4.1.4\n"), Words{"Open MPI"});
  EXPECT_EQ(identified("prterun (PRRTE) 3.0.2\n"), Words{"Open MPI"});
  EXPECT_EQ(identified("HYDRA build details:\n    Version:    4.0.2\n"), Words{"MPICH"});
  EXPECT_EQ(identified("Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build\n"), Words{"Intel MPI"});
  EXPECT_EQ(identified("Intel(R) MPI Library\nHYDRA build details:\n"), Words{"Intel MPI"});
  EXPECT_EQ(identified("slurm 23.11\n"), Words{});
}

TEST(MpiLaunchers, OpenMpiOptionsFollowVersionUserAndCores) {
  const spi::Launcher& launcher = kOpenMpiLaunchers[0];
  const Words plain = launcher.command({.program = "/bin/mpirun", .version = "4.1.4", .ranks = 2, .cores = 2});
  EXPECT_EQ(plain, (Words{"/bin/mpirun", "-n", "2", "--bind-to", "none", "--oversubscribe"}));
  const Words crowded = launcher.command({.version = "4.1.4", .ranks = 3, .cores = 2, .is_root = true});
  EXPECT_TRUE(has(crowded, "--allow-run-as-root"));
  EXPECT_TRUE(has(crowded, "mpi_yield_when_idle"));
  const Words five = launcher.command({.version = "5.0.3", .ranks = 2, .cores = 2});
  EXPECT_FALSE(has(five, "--oversubscribe"));
  EXPECT_TRUE(has(five, ":OVERSUBSCRIBE"));
  EXPECT_TRUE(has(launcher.command({.version = "", .ranks = 2, .cores = 2}), "--oversubscribe"));
  EXPECT_EQ(launcher.variables, nullptr);
}

TEST(MpiLaunchers, MpichAndIntelMpiForkTheRanks) {
  const auto& [mpich, intel] = kMpichLaunchers;
  EXPECT_EQ(mpich.command({.program = "mpirun", .ranks = 7, .cores = 2}),
            (Words{"mpirun", "-n", "7", "-launcher", "fork"}));
  EXPECT_EQ(intel.command({.program = "hydra", .ranks = 2, .cores = 2}),
            (Words{"hydra", "-n", "2", "-bootstrap", "fork"}));
  EXPECT_EQ(intel.command({.program = "hydra", .ranks = 3, .cores = 2}),
            (Words{"hydra", "-n", "3", "-bootstrap", "fork", "-genv", "I_MPI_COLL_INTRANODE", "pt2pt"}));
}

TEST(MpiLaunchers, IntelMpiOfAFolderGetsItsVariables) {
  const spi::Launcher& intel = kMpichLaunchers[1];
  const auto variables_of = [&](const std::string& root) {
    std::map<std::string, spi::LaunchVariable> variables;
    for (const spi::LaunchVariable& variable : intel.variables({.root = root}))
      variables.emplace(variable.name, variable);
    return variables;
  };
  const auto installed = variables_of("");
  EXPECT_EQ(installed.at("I_MPI_PIN").value, "0");
  EXPECT_EQ(installed.at("I_MPI_FABRICS").value, "shm");
  EXPECT_EQ(installed.size(), 2U);
  const auto unpacked = variables_of("/intel");
  EXPECT_EQ(unpacked.at("I_MPI_FABRICS").value, "shm");
  EXPECT_EQ(unpacked.at("I_MPI_ROOT").value, "/intel");
  EXPECT_EQ(unpacked.at("FI_PROVIDER_PATH").value, "/intel/lib");
  EXPECT_FALSE(unpacked.at("FI_PROVIDER_PATH").prepends);
  EXPECT_EQ(unpacked.at("LD_LIBRARY_PATH").value, "/intel/lib");
  EXPECT_TRUE(unpacked.at("LD_LIBRARY_PATH").prepends);
  EXPECT_EQ(unpacked.at("PATH").value, "/intel/bin");
  EXPECT_TRUE(unpacked.at("PATH").prepends);
}

TEST(MpiLaunchers, EveryProductOfTheModuleHasItsLauncher) {
  const spi::BackendModule& module = *tutti_backend_module();
  Words products(module.products.begin(), module.products.end());
  Words launched;
  for (const spi::Launcher& launcher : module.launchers) {
    launched.emplace_back(launcher.product);
    EXPECT_FALSE(launcher.rank_variable.empty());
    EXPECT_FALSE(launcher.programs.empty());
  }
  EXPECT_EQ(launched, products);
  EXPECT_TRUE(has(launched, std::string(module.variant)));
}

}  // namespace
}  // namespace tutti::mpi

// Which of the source's libraries are preloaded for an MPI library.
#include "base/mpi/mpi_preload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiling/mpi/mpi_session.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {
namespace {

using mpi_table::mpi_library_of_launcher;
using mpi_table::source_libraries;
using testing::ElementsAre;

constexpr auto kBase = "libtutti_source_mpi.so";
constexpr auto k4 = "libtutti_source_mpi_4.so";
constexpr auto kLarge = "libtutti_source_mpi_large.so";

TEST(MpiPreload, leaves_out_functions_that_the_mpi_lacks) {
  const TemporaryFolder folder;
  using std::string_view_literals::operator""sv;
  EXPECT_THAT(source_libraries(folder.add("mpi3", "\0MPI_Init\0MPI_Allreduce\0"sv)), ElementsAre(kBase));
  EXPECT_THAT(source_libraries(folder.add("mpi5", "\0MPI_Session_init\0MPI_Allreduce\0"sv)), ElementsAre(kBase, k4));
  EXPECT_THAT(source_libraries(folder.add("mpi4", "\0MPI_Session_init\0MPI_Allreduce_c\0"sv)),
              ElementsAre(kBase, k4, kLarge));
  EXPECT_THAT(source_libraries(folder.add("other", "\0MPI_Session_init_x\0MPI_Allreduce_c16\0"sv)), ElementsAre(kBase));
  EXPECT_THAT(source_libraries(folder.file("missing")), ElementsAre(kBase));
  EXPECT_THAT(source_libraries(""), ElementsAre(kBase));
}

TEST(MpiPreload, finds_a_name_that_crosses_the_end_of_a_chunk) {
  const TemporaryFolder folder;
  for (std::size_t before = (1U << 20) - 20; before <= (1U << 20) + 2; ++before) {
    std::string content(before, 'x');
    content += std::string("\0MPI_Session_init\0", 18);
    EXPECT_THAT(source_libraries(folder.add("mpi", content)), ElementsAre(kBase, k4)) << before;
  }
}

TEST(MpiPreload, knows_the_library_of_the_launchers_of_this_machine) {
  const std::string path = "/usr/bin:/bin";
  for (const MpiKit& kit : mpi_kits()) {
    const auto library = mpi_library_of_launcher(kit.launcher.front(), path);
    EXPECT_FALSE(library.empty()) << kit.launcher.front();
    EXPECT_EQ(source_libraries(library).size(), kit.name == "openmpi" ? 1U : 3U) << library;
  }
  EXPECT_EQ(mpi_library_of_launcher("sh", path), "");
  EXPECT_EQ(mpi_library_of_launcher("mpirun.absent", path), "");
}

}  // namespace
}  // namespace tutti::test

#include "tutti/backend_spec.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/refusals.hpp"
#include "tutti/error.hpp"

namespace tutti {
namespace {

TEST(BackendSpec, IsANameAndTheRest) {
  EXPECT_EQ(parse_backend_spec("native"), (BackendSpec{"native", ""}));
  EXPECT_EQ(parse_backend_spec("mpi:intel"), (BackendSpec{"mpi", "intel"}));
  EXPECT_EQ(parse_backend_spec("horovod:mpi:intel"), (BackendSpec{"horovod", "mpi:intel"}));
  EXPECT_EQ(parse_backend_spec("horovod:mpi:intel").text(), "horovod:mpi:intel");
  EXPECT_EQ(parse_backend_spec("auto").text(), "auto");
}

TEST(BackendSpec, OldNamesAreAliases) {
  EXPECT_EQ(parse_backend_spec("mpi-openmpi").text(), "mpi:openmpi");
  EXPECT_EQ(parse_backend_spec("horovod-mpi-intel").text(), "horovod:mpi:intel");
}

TEST(BackendSpec, OtherTextsAreRefusedWithTheForm) {
  for (const char* text :
       {"", ":", "mpi:", ":mpi", "mpi::intel", "MPI", "mpi intel", "mpi:in tel", "mpi,ccl", "../x", "mpi\n"}) {
    const std::string error = test::error_of([&] { (void)parse_backend_spec(text); }, ErrorCode::config);
    EXPECT_NE(error.find("NAME:REST"), std::string::npos) << text << ": " << error;
  }
}

}  // namespace
}  // namespace tutti

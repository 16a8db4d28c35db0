// The backend passes device memory to an MPI library only if the library reports that it takes this kind of memory.
#include "mpi_gpu.hpp"

#include <gtest/gtest.h>

namespace tutti::mpi {
namespace {

Answer yes() { return static_cast<Answer>(1); }
Answer no() { return Answer::no; }

TEST(MpiGpu, AnMpiWithoutTheQuestionTakesNone) {
  const GpuSupport support = GpuSupport::of(Api());
  EXPECT_FALSE(support.cuda);
  EXPECT_FALSE(support.level_zero);
}

TEST(MpiGpu, EachKindIsAskedFor) {
  Api api;
  api.query_cuda_support.set(yes);
  api.query_ze_support.set(no);
  EXPECT_TRUE(GpuSupport::of(api).cuda);
  EXPECT_FALSE(GpuSupport::of(api).level_zero);
  api.query_cuda_support.set(no);
  api.query_ze_support.set(yes);
  EXPECT_FALSE(GpuSupport::of(api).cuda);
  EXPECT_TRUE(GpuSupport::of(api).level_zero);
}

TEST(MpiGpu, MemoryOfSyclIsThatOfWhatIsUnderneath) {
  const GpuSupport both = {.cuda = true, .level_zero = true};
  const GpuSupport cuda = {.cuda = true};
  const GpuSupport level_zero = {.level_zero = true};
  EXPECT_TRUE(cuda.takes("cuda", ""));
  EXPECT_FALSE(cuda.takes("level_zero", ""));
  EXPECT_TRUE(level_zero.takes("level_zero", ""));
  EXPECT_TRUE(level_zero.takes("sycl", "Intel(R) oneAPI Unified Runtime over Level-Zero 1.6"));
  EXPECT_FALSE(cuda.takes("sycl", "Intel(R) oneAPI Unified Runtime over Level-Zero 1.6"));
  EXPECT_TRUE(cuda.takes("sycl", "NVIDIA CUDA BACKEND 13.0"));
  EXPECT_FALSE(both.takes("sycl", "Intel(R) OpenCL 2026.2")) << "memory of a CPU";
  EXPECT_FALSE(both.takes("threaded", ""));
}

}  // namespace
}  // namespace tutti::mpi

// The real CUDA runtime, NCCL and CUPTI, compiled and linked as in an application, on a machine without a GPU.
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <nccl.h>

namespace tutti::test {
namespace {

TEST(CudaLibraries, AreThoseOfTheirHeaders) {
  int runtime = 0;
  ASSERT_EQ(cudaRuntimeGetVersion(&runtime), cudaSuccess);
  EXPECT_EQ(runtime / 1000, CUDART_VERSION / 1000);
  int nccl = 0;
  ASSERT_EQ(ncclGetVersion(&nccl), ncclSuccess);
  EXPECT_EQ(nccl, NCCL_VERSION_CODE);
  std::uint32_t cupti = 0;
  ASSERT_EQ(cuptiGetVersion(&cupti), CUPTI_SUCCESS);
  EXPECT_EQ(cupti, static_cast<std::uint32_t>(CUPTI_API_VERSION));
}

TEST(CudaLibraries, SayThatThereIsNoDriver) {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr)
    GTEST_SKIP() << "this machine has an NVIDIA driver (libcuda.so.1)";
  int driver = -1;
  ASSERT_EQ(cudaDriverGetVersion(&driver), cudaSuccess);
  EXPECT_EQ(driver, 0);
  int count = -1;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 64), cudaErrorInsufficientDriver);
}

}  // namespace
}  // namespace tutti::test

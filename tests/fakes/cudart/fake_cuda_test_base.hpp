#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "fake_cudart.hpp"

namespace tutti::test {

/// The violations since the last call, one line each.
inline std::string take_cuda_violations() {
  std::vector<char> text(1 << 14);
  (void)fake_cuda_take_violations(text.data(), text.size());
  return text.data();
}

/// A test on the fake CUDA; fails if the fake recorded a violation.
class FakeCudaTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cudaSetDevice(0), cudaSuccess); }
  void TearDown() override {
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "the test left an error behind";
    EXPECT_EQ(take_cuda_violations(), "");
    fake_cuda_repair();
    (void)cudaGetLastError();
  }
};

/// Blocks a stream until `is_open`, like a kernel that waits for the host.
class Holder {
 public:
  explicit Holder(cudaStream_t stream) { EXPECT_EQ(fake_cuda_launch(stream, wait, &is_open), cudaSuccess); }
  std::atomic<bool> is_open = false;

 private:
  static void wait(void* flag) {
    while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

}  // namespace tutti::test

#include "bridge/ccl_capture.hpp"

#include <gtest/gtest.h>

#include <future>
#include <iostream>
#include <memory>
#include <sstream>
#include <thread>

namespace tutti::ccl {
namespace {

/// Replaces the buffers of std::cerr and std::cout, to see the text that reaches them.
class CclCapture : public testing::Test {
 protected:
  void SetUp() override { Capture::enable(true); }
  void TearDown() override {
    Capture::enable(false);
    std::cerr.rdbuf(cerr_);
    std::cout.rdbuf(cout_);
  }
  std::stringbuf errors_;
  std::stringbuf output_;
  std::streambuf* cerr_ = std::cerr.rdbuf(&errors_);
  std::streambuf* cout_ = std::cout.rdbuf(&output_);
};

TEST_F(CclCapture, CatchesWhatThisThreadWritesAndNothingElse) {
  {
    const Capture capture;
    std::cerr << "2026:11:16-05:15:50:1:[0] |CCL_ERROR| atl_ofi.cpp:347 init: no provider" << std::endl;
    std::cout << "a warning" << std::endl;
    std::cerr << "2026:11:16-05:15:50:1:[0] |CCL_ERROR| comm.cpp:1 failed\n";
    std::thread([] { std::cerr << "of another thread"; }).join();
    EXPECT_EQ(capture.text(), "atl_ofi.cpp:347 init: no provider");
  }
  std::cerr << ", afterwards";
  EXPECT_EQ(errors_.str(), "of another thread, afterwards");
  EXPECT_EQ(output_.str(), "");
  EXPECT_EQ(std::cerr.rdbuf(), &errors_);
  EXPECT_EQ(std::cout.rdbuf(), &output_);
}

TEST_F(CclCapture, ThreadsMayCatchAtTheSameTimeAndEndInAnyOrder) {
  auto first = std::make_unique<Capture>();
  std::promise<void> begun;
  std::promise<void> first_is_over;
  std::thread other([&] {
    const Capture second;
    begun.set_value();
    first_is_over.get_future().wait();
    std::cerr << "|CCL_ERROR| mine\n";
    EXPECT_EQ(second.text(), "mine");
  });
  begun.get_future().wait();
  first.reset();  // the second capture must keep the streams
  first_is_over.set_value();
  other.join();
  EXPECT_EQ(errors_.str(), "");
  EXPECT_EQ(std::cerr.rdbuf(), &errors_);
}

TEST_F(CclCapture, NothingIsCaughtWhenTheUserWantsToSeeIt) {
  Capture::enable(false);
  const Capture capture;
  std::cerr << "|CCL_ERROR| seen\n";
  EXPECT_EQ(capture.text(), "");
  EXPECT_EQ(errors_.str(), "|CCL_ERROR| seen\n");
}

}  // namespace
}  // namespace tutti::ccl

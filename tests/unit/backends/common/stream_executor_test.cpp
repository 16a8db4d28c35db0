// Stream-ordered operations with a fake library, whose operations end when the test opens their gates.
#include "common/stream_executor.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "support/devices/device_support.hpp"

namespace tutti::common {
namespace {

using namespace std::chrono_literals;
using test::DeviceArray;

// Path of the fake device's module.
const int prepared = setenv("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES, 1);  // NOLINT

/// Library whose operations wait at a gate until the test opens it, then fill their output with 7.
class GatedLibrary final : public StreamLibrary {
 public:
  void enqueue(std::span<const Operation> operations, Finish& finish_of_call) override {
    finish_of_call = std::exchange(finish, {});
    if (refusal && !refuses_late) throw Error(*refusal);
    for (const Operation& operation : operations) {
      spi::DeviceRuntime& runtime = spi::device_runtime(operation.stream.device());
      if (gated) gates.push_back(runtime.hold(operation.stream));
      if (operation.output == nullptr) continue;
      const Buffer output(operation.output, operation.block_bytes(), DataType::uint8, operation.where);
      (void)runtime.fill(operation.stream, output, std::byte{7});
    }
    calls.push_back(operations.size());
    if (refusal) throw Error(*refusal);
  }
  std::optional<Error> asynchronous_error() override { return trouble; }
  void abort() noexcept override {
    ++aborts;
    gates.clear();
  }
  void open() { gates.clear(); }

  bool gated = true;
  Finish finish;  ///< of the next call
  std::optional<Error> refusal;
  bool refuses_late = false;  ///< throws `refusal` only after the streams have got their commands
  std::optional<Error> trouble;
  std::vector<std::unique_ptr<spi::DeviceGate>> gates;
  std::vector<std::size_t> calls;
  std::atomic<int> aborts = 0;
};

class StreamExecutorTest : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = 16;

  Operation operation(const Stream& stream, void* output) const {
    Operation op;
    op.kind = OpKind::allreduce;
    op.type = DataType::uint8;
    op.count = kBytes;
    op.input = output;
    op.output = output;
    op.where = {device_, MemoryKind::device};
    op.stream = stream;
    return op;
  }
  static std::array<char, kBytes> content(const DeviceArray& array) {
    std::array<char, kBytes> bytes;
    array.read(bytes.data(), kBytes);
    return bytes;
  }
  static std::array<char, kBytes> all(char value) {
    std::array<char, kBytes> bytes;
    bytes.fill(value);
    return bytes;
  }
  /// The error that `body` throws.
  template <typename Body>
  static Error error_of(const Body& body) {
    try {
      body();
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorCode::ok, "nothing was thrown");
  }

  Device device_ = Device::parse("threaded:0.0");
  spi::DeviceRuntime& runtime_ = spi::device_runtime(device_);
  std::unique_ptr<spi::DeviceStream> own_ = runtime_.make_stream(device_);
  std::unique_ptr<spi::DeviceStream> other_ = runtime_.make_stream(device_);
  // The tests read and write the arrays through this stream, which no gate blocks.
  std::unique_ptr<spi::DeviceStream> beside_ = runtime_.make_stream(device_);
  DeviceArray first_{beside_->stream(), MemoryKind::device, kBytes};
  DeviceArray second_{beside_->stream(), MemoryKind::device, kBytes};
  GatedLibrary library_;
  StreamExecutor executor_{library_, {"fake", 1, 3}};

  void SetUp() override {
    first_.write(all(1).data(), kBytes);
    second_.write(all(2).data(), kBytes);
  }
  /// Operations that a test has given up still write to the arrays: waits for them.
  void TearDown() override {
    library_.open();
    runtime_.record(own_->stream())->wait();
    runtime_.record(other_->stream())->wait();
  }
};

TEST_F(StreamExecutorTest, CompletesWhenTheStreamHasComeSoFar) {
  int finished = 0;
  library_.finish = [&] { ++finished; };
  const auto pending = executor_.start(operation(own_->stream(), first_.data()));
  EXPECT_FALSE(pending->poll());
  EXPECT_FALSE(pending->wait(std::chrono::steady_clock::now() + 5ms));
  EXPECT_EQ(finished, 0);
  library_.open();
  EXPECT_TRUE(pending->wait(spi::Deadline::max()));
  EXPECT_EQ(finished, 1);
  EXPECT_EQ(content(first_), all(7));
}

TEST_F(StreamExecutorTest, WithoutAStreamUsesOneOfItsOwn) {
  library_.gated = false;
  EXPECT_FALSE(StreamExecutor::is_for(Operation()));
  const Operation op = operation({}, first_.data());
  EXPECT_TRUE(StreamExecutor::is_for(op));
  int finished = 0;
  library_.finish = [&] { ++finished; };
  executor_.run(op);
  EXPECT_EQ(finished, 1);
  EXPECT_EQ(content(first_), all(7));
}

TEST_F(StreamExecutorTest, CommunicatorsDoNotWaitForEachOther) {
  const auto slow = executor_.start(operation({}, first_.data()));
  GatedLibrary other_library;
  other_library.gated = false;
  StreamExecutor other(other_library, {"fake", 1, 3});
  other.run(operation({}, second_.data()));
  EXPECT_EQ(content(second_), all(7));
  EXPECT_FALSE(slow->poll());
  library_.open();
  EXPECT_TRUE(slow->wait(spi::Deadline::max()));
}

TEST_F(StreamExecutorTest, KeepsTheOrderOfCallsOnDifferentStreams) {
  const auto slow = executor_.start(operation(own_->stream(), first_.data()));
  library_.gated = false;
  const auto quick = executor_.start(operation(other_->stream(), second_.data()));
  EXPECT_FALSE(quick->wait(std::chrono::steady_clock::now() + 20ms));
  EXPECT_EQ(content(second_), all(2));
  library_.open();
  EXPECT_TRUE(quick->wait(spi::Deadline::max()));
  EXPECT_TRUE(slow->poll());
  EXPECT_EQ(content(second_), all(7));
}

TEST_F(StreamExecutorTest, RunsAGroupInOneCallOnTwoStreams) {
  library_.gated = false;
  bool finished = false;
  const std::array ops = {operation(own_->stream(), first_.data()), operation(other_->stream(), second_.data())};
  library_.finish = [&] { finished = true; };
  (void)executor_.start_group(ops)->wait(spi::Deadline::max());
  EXPECT_TRUE(finished);
  EXPECT_EQ(library_.calls, std::vector<std::size_t>{2});
  EXPECT_EQ(content(first_), all(7));
  EXPECT_EQ(content(second_), all(7));
}

TEST_F(StreamExecutorTest, GivesUpAfterATimeout) {
  Operation op = operation(own_->stream(), first_.data());
  op.timeout = 20ms;
  const Error late = error_of([&] { executor_.run(op); });
  EXPECT_EQ(late.code(), ErrorCode::timeout);
  EXPECT_STREQ(late.what(), "allreduce(sum) of 16 uint8 (16 B) on rank 1 of 3 (fake): not complete after 20 ms");
  EXPECT_EQ(library_.aborts, 1);
  const Error after = error_of([&] { (void)executor_.start(op); });
  EXPECT_EQ(after.code(), ErrorCode::timeout);
  executor_.abort();
  EXPECT_EQ(library_.aborts, 1);
}

TEST_F(StreamExecutorTest, GivesUpOnAGroupAfterATimeout) {
  std::array ops = {operation(own_->stream(), first_.data()), operation(own_->stream(), second_.data())};
  for (Operation& op : ops) op.timeout = 20ms;
  EXPECT_EQ(error_of([&] { (void)executor_.start_group(ops)->wait(spi::Deadline::max()); }).code(), ErrorCode::timeout);
}

TEST_F(StreamExecutorTest, AnAbortEndsAWait) {
  const auto pending = executor_.start(operation(own_->stream(), first_.data()));
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    executor_.abort();
  });
  const Error error = error_of([&] { (void)pending->wait(spi::Deadline::max()); });
  other.join();
  EXPECT_EQ(error.code(), ErrorCode::aborted);
  EXPECT_EQ(library_.aborts, 1);
}

TEST_F(StreamExecutorTest, WhatAnAbortLetThroughIsNoResult) {
  const auto pending = executor_.start(operation(own_->stream(), first_.data()));
  executor_.abort();
  (void)runtime_.record(own_->stream())->wait();
  EXPECT_EQ(error_of([&] { (void)pending->poll(); }).code(), ErrorCode::aborted);
}

TEST_F(StreamExecutorTest, NoticesAnErrorOfTheLibrary) {
  const auto pending = executor_.start(operation(own_->stream(), first_.data()));
  library_.trouble = Error(ErrorCode::peer_failure, "rank 2 is gone", "fake", 6);
  const Error error = error_of([&] { (void)pending->wait(spi::Deadline::max()); });
  EXPECT_EQ(error.code(), ErrorCode::peer_failure);
  EXPECT_EQ(error.vendor_code(), 6);
  EXPECT_STREQ(error.what(), "allreduce(sum) of 16 uint8 (16 B) on rank 1 of 3 (fake): rank 2 is gone");
  EXPECT_EQ(library_.aborts, 1);
}

TEST_F(StreamExecutorTest, SurvivesWhatTheLibraryRefuses) {
  const Operation op = operation(own_->stream(), first_.data());
  library_.gated = false;
  library_.refusal = Error(ErrorCode::unsupported, "not on Sundays");
  EXPECT_EQ(error_of([&] { executor_.run(op); }).code(), ErrorCode::unsupported);
  library_.refusal.reset();
  executor_.run(op);
  EXPECT_EQ(content(first_), all(7));
  library_.refusal = Error(ErrorCode::backend_failure, "broken", {}, 5);
  const Error error = error_of([&] { executor_.run(op); });
  EXPECT_EQ(error.code(), ErrorCode::backend_failure);
  EXPECT_EQ(error.backend(), "fake");
  EXPECT_EQ(error.vendor_code(), 5);
  EXPECT_EQ(library_.aborts, 1);
  library_.refusal.reset();
  EXPECT_EQ(error_of([&] { executor_.run(op); }).code(), ErrorCode::backend_failure);
}

TEST_F(StreamExecutorTest, KeepsWhatAnOperationNeedsWhenNobodyLooks) {
  auto scratch = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = scratch;
  library_.finish = [held = std::move(scratch)] {};
  executor_.start(operation(own_->stream(), first_.data())).reset();
  EXPECT_FALSE(watched.expired());
  library_.open();
  (void)runtime_.record(own_->stream())->wait();
  library_.gated = false;
  executor_.run(operation(own_->stream(), first_.data()));  // each call releases the operations that have ended
  EXPECT_TRUE(watched.expired());
}

// The commands that the streams already have still use the operation's memory.
TEST_F(StreamExecutorTest, KeepsWhatARefusedOperationHasBegunWith) {
  for (const ErrorCode code : {ErrorCode::unsupported, ErrorCode::backend_failure}) {
    StreamExecutor executor(library_, {"fake", 1, 3});
    auto gate = runtime_.hold(own_->stream());
    auto scratch = std::make_shared<int>(1);
    const std::weak_ptr<int> watched = scratch;
    library_.finish = [held = std::move(scratch)] {};
    library_.gated = false;
    library_.refuses_late = true;
    library_.refusal = Error(code, "half of it");
    const Operation op = operation(own_->stream(), first_.data());
    EXPECT_EQ(error_of([&] { executor.run(op); }).code(), code);
    EXPECT_FALSE(watched.expired()) << name(code);
    gate.reset();
    runtime_.record(own_->stream())->wait();
    executor.drain();
    EXPECT_TRUE(watched.expired()) << name(code);
  }
}

TEST_F(StreamExecutorTest, KeepsAResourceUntilTheStreamHasComeSoFar) {
  auto scratch = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = scratch;
  auto gate = runtime_.hold(own_->stream());
  executor_.keep(own_->stream(), std::move(scratch));
  EXPECT_FALSE(watched.expired());
  gate.reset();
  executor_.drain();
  EXPECT_TRUE(watched.expired());
}

TEST_F(StreamExecutorTest, EndsWithItsOperations) {
  {
    StreamExecutor brief(library_, {"fake", 0, 1});
    brief.start(operation(own_->stream(), first_.data())).reset();
    std::thread other([&] {
      std::this_thread::sleep_for(20ms);
      library_.open();
    });
    brief.drain();
    other.join();
  }
  EXPECT_EQ(content(first_), all(7));
}

/// Destroys an executor while an operation is pending whose handle is gone.
void end_with(GatedLibrary& library, const Operation& operation) {
  auto brief = std::make_unique<StreamExecutor>(library, StreamExecutor::Identity{"fake", 0, 1});
  brief->start(operation).reset();
  brief.reset();
}

// In the two tests below, the destructor waits for ever unless it checks for errors and timeouts itself.
TEST_F(StreamExecutorTest, EndsWhenTheLibraryHasMetAnError) {
  library_.trouble = Error(ErrorCode::peer_failure, "rank 2 is gone", "fake", 6);
  end_with(library_, operation(own_->stream(), first_.data()));
  EXPECT_EQ(library_.aborts, 1);
}

TEST_F(StreamExecutorTest, EndsWhenTheTimeOfAnOperationIsOver) {
  Operation op = operation(own_->stream(), first_.data());
  op.timeout = 20ms;
  end_with(library_, op);
  EXPECT_EQ(library_.aborts, 1);
}

}  // namespace
}  // namespace tutti::common

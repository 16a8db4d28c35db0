// Device images, which replace memory that a library cannot use, and the scratch memory that holds them.
#include "common/device_image.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <numeric>

#include "support/devices/device_support.hpp"
#include "support/observers/recording_observer.hpp"

namespace tutti::common {
namespace {

// Path of the fake device's module.
const int prepared = setenv("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES, 1);  // NOLINT

class DeviceImageTest : public testing::Test {
 protected:
  static constexpr int kRanks = 3;

  Device device_ = Device::parse("threaded:0.1");
  spi::DeviceRuntime& runtime_ = spi::device_runtime(device_);
  Stream stream_ = runtime_.stream(device_);
  ScratchPool pool_{runtime_, stream_, "test"};

  /// Stands for the operation of a library: copies the image of the input to the image of the output.
  void carry_out(DeviceImage& image, std::size_t bytes) {
    image.upload();
    const Operation& op = image.operation();
    EXPECT_EQ(op.where, (Memory{device_, MemoryKind::device}));
    EXPECT_EQ(op.stream.native(), stream_.native());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(op.input) % 64, 0u);
    (void)runtime_.copy(stream_, Buffer(op.output, bytes, DataType::uint8, op.where),
                        ConstBuffer(op.input, bytes, DataType::uint8, op.where));
    image.download();
    runtime_.record(stream_)->wait();
    image.finish();
  }
};

TEST_F(DeviceImageTest, CarriesHostMemoryToTheDeviceAndBack) {
  std::array<std::int32_t, 5> in = {1, 2, 3, 4, 5};
  std::array<std::int32_t, 5> out = {};
  Operation op;
  op.kind = OpKind::allreduce;
  op.type = DataType::int32;
  op.count = in.size();
  op.input = in.data();
  op.output = out.data();
  DeviceImage image(pool_, runtime_, stream_, op, kRanks);
  carry_out(image, sizeof in);
  EXPECT_EQ(out, in);
}

TEST_F(DeviceImageTest, LeavesGapsAlone) {
  const std::array<std::uint64_t, kRanks> counts = {2, 0, 3};
  const std::array<std::uint64_t, kRanks> from = {1, 0, 5};
  const std::array<std::uint64_t, kRanks> to = {4, 0, 0};
  std::array<std::uint8_t, 9> in;
  std::iota(in.begin(), in.end(), std::uint8_t{10});
  std::array<std::uint8_t, 7> out = {};
  Operation op;
  op.kind = OpKind::alltoallv;
  op.input = in.data();
  op.output = out.data();
  op.input_layout = {counts.data(), from.data()};
  op.output_layout = {counts.data(), to.data()};
  DeviceImage image(pool_, runtime_, stream_, op, kRanks);
  EXPECT_EQ(image.operation().input_layout.displacements, nullptr);
  carry_out(image, 5);
  EXPECT_EQ(out, (std::array<std::uint8_t, 7>{15, 16, 17, 0, 11, 12, 0}));
}

TEST_F(DeviceImageTest, AlignsMemoryOfTheDevice) {
  const test::DeviceArray array(stream_, MemoryKind::device, 128);
  std::array<std::uint8_t, 128> content;
  std::iota(content.begin(), content.end(), std::uint8_t{0});
  array.write(content.data(), content.size());
  Operation op;
  op.kind = OpKind::allreduce;
  op.type = DataType::float32;
  op.count = 4;
  op.where = array.where();
  op.input = static_cast<std::byte*>(array.data()) + 3;
  op.output = static_cast<std::byte*>(array.data()) + 65;
  DeviceImage image(pool_, runtime_, stream_, op, kRanks);
  carry_out(image, 16);
  std::array<std::uint8_t, 128> result;
  array.read(result.data(), result.size());
  std::copy_n(content.begin() + 3, 16, content.begin() + 65);
  EXPECT_EQ(result, content);
}

TEST_F(DeviceImageTest, NeedsNothingForABarrier) {
  const test::RecordingObserver observer;
  DeviceImage image(pool_, runtime_, stream_, Operation(), kRanks);
  image.upload();
  image.download();
  image.finish();
  EXPECT_TRUE(observer.allocations().empty());
}

TEST_F(DeviceImageTest, MemoryInUseIsNotGivenAgain) {
  const auto first = pool_.take(MemoryKind::device, 1000);
  const auto second = pool_.take(MemoryKind::device, 1000);
  EXPECT_NE(second->data(), first->data());
  EXPECT_GE(second->bytes(), 1000u);
  EXPECT_EQ(pool_.take(MemoryKind::host, 1000)->kind(), MemoryKind::host);
}

TEST_F(DeviceImageTest, MemoryMayOutliveThePool) {
  std::shared_ptr<ScratchBlock> block;
  {
    ScratchPool brief(runtime_, stream_, "test");
    block = brief.take(MemoryKind::device, 100);
    std::byte* const place = block->data();
    block.reset();
    block = brief.take(MemoryKind::device, 50);
    EXPECT_EQ(block->data(), place);
  }
  const Buffer all(block->data(), 50, DataType::uint8, {device_, MemoryKind::device});
  EXPECT_NO_THROW(runtime_.fill(stream_, all, std::byte{1})->wait());
}

}  // namespace
}  // namespace tutti::common

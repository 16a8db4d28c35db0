#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tutti/error.hpp"
#include "tutti/spi/device.hpp"

namespace tutti::test {
namespace {

using spi::DeviceRuntime;

TEST(HostDevice, IsTheFirstModule) {
  const std::vector<DeviceModuleInfo> all = device_modules();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].name, "host");
  EXPECT_TRUE(all[0].usable);
  ASSERT_EQ(all[0].devices.size(), 1u);
  EXPECT_TRUE(all[0].devices[0].device.is_host());
  EXPECT_EQ(Device::parse("host"), Device());
  EXPECT_EQ(Device().name(), "host");
}

TEST(HostDevice, WorkHasHappenedWhenTheCallReturns) {
  DeviceRuntime& runtime = spi::device_runtime({});
  const Stream& stream = runtime.stream({});
  EXPECT_TRUE(stream.is_host());
  auto* data = static_cast<float*>(runtime.allocate(stream, MemoryKind::device, 3 * sizeof(float), "test"));
  const auto where = runtime.locate(stream, data).where;
  ASSERT_TRUE(where.has_value());
  EXPECT_EQ(*where, Memory());
  const std::array<float, 3> values = {1, 2, 3};
  (void)runtime.copy(stream, Buffer(data, 3), values);
  void* const output = data;
  const std::array<const void*, 2> inputs = {data, values.data()};
  const auto sum = runtime.reduce(
      stream, {.type = DataType::float32, .count = 3, .outputs = {&output, 1}, .inputs = inputs, .divisor = 2});
  EXPECT_TRUE(sum->ready());
  ASSERT_TRUE(sum->interval().has_value());
  EXPECT_LE(sum->interval()->begin_ns, sum->interval()->end_ns);
  EXPECT_EQ(std::vector<float>(data, data + 3), (std::vector<float>{1, 2, 3}));
  (void)runtime.fill(stream, Buffer(data, 3), std::byte{0});
  EXPECT_EQ(data[2], 0.0F);
  runtime.release(stream, data, MemoryKind::device, 3 * sizeof(float), "test");
}

TEST(HostDevice, SaysWhatItCannot) {
  DeviceRuntime& runtime = spi::device_runtime({});
  int local = 0;
  EXPECT_THROW((void)runtime.hold({}), Error);
  EXPECT_THROW((void)runtime.export_memory({}, &local), Error);
  EXPECT_THROW((void)runtime.device_of(&local), Error);
}

TEST(Devices, ThatAreNotThereAreAnError) {
  try {
    (void)Device::parse("abacus:0");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::config);
    EXPECT_NE(std::string(error.what()).find("'abacus:0'; there are: host"), std::string::npos) << error.what();
  }
  try {
    (void)spi::device_runtime(Device(999, 0));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::backend_unavailable);
    EXPECT_NE(std::string(error.what()).find("999"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tutti::test

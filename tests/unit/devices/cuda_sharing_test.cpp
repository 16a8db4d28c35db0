// Device memory of one process in another. The test starts this program again with "--import" as the other process.
#include <cstring>

#include "fakes/cudart/fake_cuda_test_base.hpp"
#include "support/devices/device_support.hpp"
#include "support/system/subprocess.hpp"
#include "tutti/error.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBytes = 100'000;
constexpr std::size_t kOffset = 4'000;

std::string to_text(const spi::IpcHandle& handle) {
  std::string text;
  for (const std::byte each : handle) {
    text += "0123456789abcdef"[static_cast<unsigned>(each) >> 4U];
    text += "0123456789abcdef"[static_cast<unsigned>(each) & 15U];
  }
  return text;
}

spi::IpcHandle from_text(const std::string& text) {
  spi::IpcHandle handle;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    handle.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return handle;
}

class CudaSharing : public FakeCudaTest {
 protected:
  void SetUp() override {
    FakeCudaTest::SetUp();
    ASSERT_EQ(why_no_device("cuda"), "");
    device_ = Device::parse("cuda:0");
    runtime_ = &spi::device_runtime(device_);
    stream_ = runtime_->stream(device_);
  }
  Device device_;
  spi::DeviceRuntime* runtime_ = nullptr;
  Stream stream_;
};

/// The other process: checks the content at both addresses of the allocation and changes it at the second.
int run_importer(const std::string& whole_text, const std::string& part_text, const std::string& device_name) {
  const Device device = Device::parse(device_name);
  spi::DeviceRuntime& runtime = spi::device_runtime(device);
  const Stream& stream = runtime.stream(device);
  void* whole = runtime.import_memory(stream, from_text(whole_text));
  void* part = runtime.import_memory(stream, from_text(part_text));
  if (static_cast<std::byte*>(part) != static_cast<std::byte*>(whole) + kOffset) return 2;
  if (runtime.locate(stream, part).where != Memory{device, MemoryKind::device}) return 3;
  std::vector<unsigned char> got(kBytes);
  const Memory where{device, MemoryKind::device};
  runtime.copy(stream, Buffer(got), ConstBuffer(whole, kBytes, DataType::uint8, where))->wait();
  for (std::size_t i = 0; i < kBytes; ++i) {
    if (got[i] != i % 251) return 4;
  }
  runtime.fill(stream, Buffer(part, 10, DataType::uint8, where), std::byte{0xEE})->wait();
  // Both imports share one mapping, which ends with the last close_memory().
  runtime.close_memory(stream, whole);
  runtime.fill(stream, Buffer(static_cast<std::byte*>(part) + 10, 10, DataType::uint8, where), std::byte{0xDD})->wait();
  runtime.close_memory(stream, part);
  if (runtime.locate(stream, part).where.has_value()) return 5;
  return take_cuda_violations().empty() ? 0 : 6;
}

class CudaSharingOn : public CudaSharing, public testing::WithParamInterface<const char*> {};

TEST_P(CudaSharingOn, AnotherProcessReadsAndWrites) {
  const DeviceArray array(stream_, MemoryKind::device, kBytes);
  std::vector<unsigned char> content(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) content[i] = static_cast<unsigned char>(i % 251);
  array.write(content.data(), kBytes);
  const auto whole = runtime_->export_memory(stream_, array.data());
  const auto part = runtime_->export_memory(stream_, static_cast<std::byte*>(array.data()) + kOffset);
  const CommandResult result =
      run_command({"/proc/self/exe", "--import", to_text(whole), to_text(part), GetParam()}, {}, 60s);
  EXPECT_EQ(result.code, 0) << result.output;
  array.read(content.data(), kBytes);
  EXPECT_EQ(content[kOffset - 1], (kOffset - 1) % 251);
  EXPECT_EQ(content[kOffset], 0xEE);
  EXPECT_EQ(content[kOffset + 10], 0xDD);
  EXPECT_EQ(content[kOffset + 20], (kOffset + 20) % 251);
}

INSTANTIATE_TEST_SUITE_P(Devices, CudaSharingOn, testing::Values("cuda:0", "cuda:1"), [](const auto& device) {
  return std::string(device.param) == "cuda:0" ? "the_same" : "a_peer";
});

TEST_F(CudaSharing, WithinAProcessTheMemoryItselfIsFound) {
  const DeviceArray array(stream_, MemoryKind::device, kBytes);
  void* inside = static_cast<std::byte*>(array.data()) + kOffset;
  const auto handle = runtime_->export_memory(stream_, inside);
  const Stream& other = runtime_->stream(Device::parse("cuda:1"));
  EXPECT_EQ(runtime_->import_memory(stream_, handle), inside);
  // After the import, the other device can use the memory.
  void* there = runtime_->import_memory(other, handle);
  EXPECT_EQ(there, inside);
  runtime_->fill(other, Buffer(there, 16, DataType::uint8, array.where()), std::byte{9})->wait();
  runtime_->close_memory(other, there);
  runtime_->close_memory(stream_, inside);
  runtime_->fill(stream_, array.bytes(), std::byte{1})->wait();
}

TEST_F(CudaSharing, WhatCannotBeSharedIsRefused) {
  const auto code_of = [&](const auto& body) {
    try {
      body();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::ok;
  };
  const DeviceArray pinned(stream_, MemoryKind::host, 64);
  EXPECT_EQ(code_of([&] { (void)runtime_->export_memory(stream_, pinned.data()); }), ErrorCode::unsupported);
  EXPECT_NE(take_cuda_violations().find("no device memory"), std::string::npos);
  int local = 0;
  EXPECT_EQ(code_of([&] { (void)runtime_->export_memory(stream_, &local); }), ErrorCode::unsupported);
  const spi::IpcHandle nonsense(136);
  EXPECT_EQ(code_of([&] { (void)runtime_->import_memory(stream_, nonsense); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)runtime_->import_memory(stream_, {}); }), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace tutti::test

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "--import") {
    try {
      return tutti::test::run_importer(argv[2], argv[3], argv[4]);
    } catch (const std::exception& error) {
      std::puts(error.what());
      return 1;
    }
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

// Memory of devices by process, from the files that the kernel's drivers write.
#include "diagnose/device_usage.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/system/temporary_folder.hpp"

namespace tutti::tools {
namespace {

class DeviceUsageTest : public testing::Test {
 protected:
  void write(const std::string& descriptor, const std::string& text) const {
    const std::string folder = folder_.file("17/fdinfo");
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/" + descriptor) << "pos:\t0\nflags:\t02100002\n" << text;
  }
  [[nodiscard]] std::string text() const { return device_usage_text(device_usage_of(17, folder_.path().string())); }

  test::TemporaryFolder folder_;
};

TEST_F(DeviceUsageTest, AddsTheClientsOfEachDevice) {
  write("0", "");
  write("3",
        "drm-driver:\txe\ndrm-client-id:\t5\ndrm-pdev:\t0000:03:00.0\ndrm-total-vram0:\t4096 KiB\n"
        "drm-resident-vram0:\t2 MiB\ndrm-total-system:\t1 GiB\n");
  write("4",
        "drm-driver:\txe\ndrm-client-id:\t6\ndrm-pdev:\t0000:03:00.0\ndrm-resident-vram0:\t1 MiB\n"
        "drm-resident-vram1:\t1 MiB\n");
  write("5",
        "drm-driver:\tamdgpu\ndrm-client-id:\t5\ndrm-pdev:\t0000:83:00.0\ndrm-memory-vram:\t1024 KiB\n"
        "drm-resident-vram:\t1024 KiB\n");
  EXPECT_EQ(text(), "0000:03:00.0 4.00 MiB, 0000:83:00.0 1.00 MiB");
  EXPECT_EQ(device_usage_of(17, folder_.path().string()).front().driver, "xe");
}

TEST_F(DeviceUsageTest, CountsADuplicatedDescriptorOnce) {
  const std::string client = "drm-driver: i915\ndrm-client-id: 5\ndrm-pdev: 0000:03:00.0\ndrm-total-local0: 8 MiB\n";
  write("3", client);
  write("9", client);
  EXPECT_EQ(text(), "0000:03:00.0 8.00 MiB");
}

TEST_F(DeviceUsageTest, PassesOverNumbersThatAreNone) {
  write("3", "drm-client-id: 5\ndrm-pdev: 0000:03:00.0\ndrm-total-vram0: many\n");
  write("4", "drm-client-id: 6\ndrm-pdev: 0000:03:00.0\ndrm-total-vram0: 5 parsecs\n");
  write("5", "drm-client-id: 7\ndrm-pdev: 0000:03:00.0\ndrm-total-vram0: 18446744073709551615 GiB\n");
  write("6", "drm-total-vram0: 5 MiB\n");
  EXPECT_EQ(text(), "");
  EXPECT_EQ(device_usage_text(device_usage_of(18, folder_.path().string())), "");
}

}  // namespace
}  // namespace tutti::tools

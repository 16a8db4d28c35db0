// A program that uses Level Zero itself and tutti's device on top of it; counts its own calls and prints
// "name|calls|errors" lines.
#include <level_zero/ze_api.h>

#include <cstdio>
#include <vector>

#include "support/devices/device_support.hpp"

namespace {

int use_tutti() {
  using namespace tutti::test;
  const std::vector<tutti::Device> devices = rank_devices("level_zero");
  if (devices.empty()) return 1;
  auto& runtime = tutti::spi::device_runtime(devices[0]);
  const tutti::Stream stream = runtime.stream(devices[0]);
  for (int i = 0; i < 10; ++i) {
    const DeviceArray array(stream, tutti::MemoryKind::device, 4096);
    const DeviceArray host(stream, tutti::MemoryKind::host, 4096);
  }
  return 0;
}

}  // namespace

int main() {
  if (zeInit(0) != ZE_RESULT_SUCCESS) return 1;
  if (use_tutti() != 0) return 2;
  std::uint32_t one = 1;
  ze_driver_handle_t driver = nullptr;
  if (zeDriverGet(&one, &driver) != ZE_RESULT_SUCCESS) return 3;
  for (int i = 0; i < 3; ++i) {
    ze_context_desc_t description = {};
    description.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    ze_context_handle_t context = nullptr;
    if (zeContextCreate(driver, &description, &context) != ZE_RESULT_SUCCESS) return 4;
    if (zeContextDestroy(context) != ZE_RESULT_SUCCESS) return 5;
  }
  std::puts("zeDriverGet|1|0\nzeContextCreate|3|0\nzeContextDestroy|3|0");
  return 0;
}

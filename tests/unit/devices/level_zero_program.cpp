// A process that uses Level Zero. It is separate because the driver reads its environment variables only once.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "support/devices/device_support.hpp"
#include "tutti/error.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

const char* kind_text(DeviceLink::Kind kind) {
  return kind == DeviceLink::Kind::same_card ? "same_card" : kind == DeviceLink::Kind::fabric ? "fabric" : "peer";
}

/// Prints the module's devices and links, or the reason why the module is not usable.
int show_devices() {
  for (const DeviceModuleInfo& module : device_modules()) {
    if (module.name != "level_zero") continue;
    if (!module.usable) {
      std::printf("not usable: %s\n", module.reason.c_str());
      return 1;
    }
    for (const DeviceInfo& info : module.devices) {
      std::printf("%s %s, %d parts, %llu MiB, %llu free, %u units, at %s%s\n", info.device.name().c_str(),
                  info.name.c_str(), info.sub_devices, static_cast<unsigned long long>(info.memory_bytes >> 20),
                  static_cast<unsigned long long>(info.free_bytes >> 20), info.compute_units, info.address.c_str(),
                  info.is_fake ? ", fake" : "");
    }
    for (const DeviceLink& link : module.links) {
      std::printf("%s -> %s %s %s %.0f\n", link.from.name().c_str(), link.to.name().c_str(), kind_text(link.kind),
                  link.name.c_str(), link.gb_per_s);
    }
  }
  return 0;
}

int copy_on(const char* name) {
  const Device device = Device::parse(name);
  const DeviceArray array(spi::device_runtime(device).stream(device), MemoryKind::device, 4096);
  const std::string text = "it works";
  array.write(text.data(), text.size());
  std::string got(text.size(), '?');
  array.read(got.data(), got.size());
  std::printf("%s\n", got.c_str());
  return 0;
}

/// Makes a stream wait for the host.
int hold_on(const char* name) {
  const Device device = Device::parse(name);
  spi::DeviceRuntime& runtime = spi::device_runtime(device);
  const Stream& stream = runtime.stream(device);
  runtime.hold(stream)->open();
  runtime.record(stream)->wait();
  std::puts("it works");
  return 0;
}

/// Shares memory with the parent process, and exits when the parent has written to it.
int share_memory() {
  const Device device = Device::parse("level_zero:0.1");
  spi::DeviceRuntime& runtime = spi::device_runtime(device);
  const DeviceArray array(runtime.stream(device), MemoryKind::device, 8192);
  const std::vector<std::byte> content(8192, std::byte{0x21});
  array.write(content.data(), content.size());
  const auto handle = runtime.export_memory(runtime.stream(device), static_cast<std::byte*>(array.data()) + 100);
  std::string text;
  for (const std::byte byte : handle) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  std::printf("handle %s end\n", text.c_str());
  std::fflush(stdout);
  std::vector<std::byte> got(8192);
  while (got[100] != std::byte{0x43}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    array.read(got.data(), got.size());
  }
  return got[99] == std::byte{0x21} && got[101] == std::byte{0x21} ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2 && std::strcmp(argv[1], "devices") == 0) return show_devices();
    if (argc == 3 && std::strcmp(argv[1], "copy") == 0) return copy_on(argv[2]);
    if (argc == 3 && std::strcmp(argv[1], "hold") == 0) return hold_on(argv[2]);
    if (argc == 2 && std::strcmp(argv[1], "share") == 0) return share_memory();
    std::fprintf(stderr, "usage: level_zero_program devices | copy DEVICE | hold DEVICE | share\n");
  } catch (const Error& error) {
    std::printf("error: %s\n", error.what());
  }
  return 1;
}

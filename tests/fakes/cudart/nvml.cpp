// libnvidia-ml of the fake machine. The build has no package with its header, so the declarations are here.
#include <cstdio>
#include <cstring>
#include <string>

#include "machine.hpp"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace tutti::test::fake_cuda;

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kNotFound = 6;
constexpr int kDriverNotLoaded = 9;

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct PciInfo {
  char legacy_address[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned vendor_and_device;
  unsigned subsystem;
  char address[32];
};

int index_of(void* device) { return static_cast<int>(reinterpret_cast<std::intptr_t>(device)) - 1; }

/// The device at the other end of a link; each pair of devices has FAKE_CUDA_NVLINKS links. -1: the link is not in use.
int peer_of(int device, unsigned link) {
  const auto links = static_cast<unsigned>(setting("FAKE_CUDA_NVLINKS", 0));
  if (links == 0) return -1;
  const int other = static_cast<int>(link / links);
  const int peer = other < device ? other : other + 1;
  return peer < Machine::instance().device_count() ? peer : -1;
}

}  // namespace

FAKE_EXPORT int nvmlInit_v2() {
  const bool is_there = setting("FAKE_CUDA_NVML", 1) != 0 && Machine::instance().driver_version() > 0;
  return is_there ? kSuccess : kDriverNotLoaded;
}

FAKE_EXPORT int nvmlShutdown() { return kSuccess; }

FAKE_EXPORT int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  std::snprintf(text, bytes, "fake %d", Machine::instance().driver_version());
  return kSuccess;
}

FAKE_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  Machine& machine = Machine::instance();
  for (int i = 0; i < machine.device_count(); ++i) {
    if (machine.address(i) != address) continue;
    *device = reinterpret_cast<void*>(static_cast<std::intptr_t>(i + 1));
    return kSuccess;
  }
  return kNotFound;
}

FAKE_EXPORT int nvmlDeviceGetMemoryInfo(void* device, void* memory) {
  const unsigned long long used = Machine::instance().device(index_of(device)).used_bytes;
  const Memory content = {kDeviceBytes, kDeviceBytes - used, used};
  std::memcpy(memory, &content, sizeof content);
  return kSuccess;
}

FAKE_EXPORT int nvmlDeviceGetNvLinkState(void* device, unsigned link, int* is_active) {
  if (link >= 18) return kInvalidArgument;
  *is_active = peer_of(index_of(device), link) >= 0 ? 1 : 0;
  return kSuccess;
}

FAKE_EXPORT int nvmlDeviceGetNvLinkVersion(void*, unsigned, unsigned* version) {
  *version = static_cast<unsigned>(setting("FAKE_CUDA_NVLINK_VERSION", 6));
  return kSuccess;
}

FAKE_EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, unsigned* type) {
  *type = setting("FAKE_CUDA_NVSWITCH", 0) != 0 ? 2 : 0;
  return kSuccess;
}

FAKE_EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, void* info) {
  const int peer = peer_of(index_of(device), link);
  if (peer < 0) return kInvalidArgument;
  PciInfo content = {};
  // The real NVML writes the domain with eight digits.
  std::snprintf(content.address, sizeof content.address, "0000%s", Machine::instance().address(peer).c_str());
  std::memcpy(info, &content, sizeof content);
  return kSuccess;
}

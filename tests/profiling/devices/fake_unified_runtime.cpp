// The tracing framework and the loader of the Unified Runtime as the source of SYCL uses them: one device of 16 GiB.
// Its memory in use grows by FAKE_UR_GROWTH bytes between the first question and the second; without the variable it
// does not tell.
#include "fake_unified_runtime.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

using Callback = void (*)(std::uint16_t, void*, void*, std::uint64_t, const void*);
constexpr std::uint16_t kBegin = 28;
constexpr std::uint16_t kEnd = 29;
Callback on_begin = nullptr;
Callback on_end = nullptr;

constexpr std::int32_t kUnsupported = 4;
constexpr std::int32_t kMemorySize = 46;
constexpr std::int32_t kMemoryFree = 47;
constexpr std::int32_t kName = 66;
constexpr std::int32_t kUuid = 88;
constexpr std::uint64_t kTotal = std::uint64_t{1} << 34U;
std::atomic<bool> was_asked = false;

std::int32_t answer(const void* value, std::size_t bytes, std::size_t room, void* to) {
  if (bytes > room) return kUnsupported;
  std::memcpy(to, value, bytes);
  return 0;
}

}  // namespace

extern "C" {

std::uint8_t xptiRegisterStream(const char*) { return 1; }

std::int32_t xptiRegisterCallback(std::uint8_t, std::uint16_t type, Callback callback) {
  if (type == kBegin) on_begin = callback;
  if (type == kEnd) on_end = callback;
  return 0;
}

int fake_ur_offer_stream(void* begin) {
  if (begin == nullptr) return 0;
  reinterpret_cast<void (*)(unsigned, unsigned, const char*, const char*)>(begin)(0, 12, "", "ur.call");
  return on_begin != nullptr && on_end != nullptr ? 1 : 0;
}

void fake_ur_call(std::uint64_t instance, std::uint32_t function, const char* name, void** arguments, void* result) {
  const struct {
    std::uint32_t function;
    const char* name;
    void* arguments;
    void* result;
    void* user_data;
  } call{function, name, arguments, result, nullptr};
  on_begin(kBegin, nullptr, nullptr, instance, &call);
  on_end(kEnd, nullptr, nullptr, instance, &call);
}

std::int32_t urDeviceGetInfo(void*, std::int32_t property, std::size_t room, void* to, std::size_t*) {
  const char* growth = std::getenv("FAKE_UR_GROWTH");
  if (property == kName) return answer("stand-in GPU", sizeof "stand-in GPU", room, to);
  if (property == kUuid) return answer("stand-in-uuid-1", 16, room, to);
  if (property == kMemorySize) return answer(&kTotal, sizeof kTotal, room, to);
  if (property != kMemoryFree || growth == nullptr) return kUnsupported;
  const std::uint64_t used = was_asked.exchange(true) ? std::strtoull(growth, nullptr, 10) : 0;
  const std::uint64_t free = kTotal / 2 - used;
  return answer(&free, sizeof free, room, to);
}
}

// Plays the calls of a SYCL runtime to the source of SYCL: a queue, an allocation of 1000 bytes that is freed, and the
// end.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>

#include "fake_unified_runtime.h"

namespace {

std::uint64_t calls = 0;

/// A call with the addresses of these arguments that succeeds.
template <typename... Arguments>
void play(std::uint32_t function, const char* name, Arguments... values) {
  void* addresses[] = {static_cast<void*>(&values)..., nullptr};
  std::int32_t result = 0;
  fake_ur_call(++calls, function, name, addresses, &result);
}

}  // namespace

/// usage: unified_runtime_program SOURCE
int main(int, char** arguments) {
  void* source = dlopen(arguments[1], RTLD_NOW);
  if (source == nullptr) {
    std::puts(dlerror());
    return 1;
  }
  if (fake_ur_offer_stream(dlsym(source, "xptiTraceInit")) == 0) {
    std::puts("the source has not subscribed");
    return 1;
  }
  int device_object = 0;
  int queue_object = 0;
  char memory[1000] = {};
  void* const device = &device_object;
  void* queue = &queue_object;
  void* pointer = memory;
  void* const none = nullptr;
  play(1, "urQueueCreate", none, device, none, &queue);
  play(2, "urUSMDeviceAlloc", none, device, none, none, sizeof memory, &pointer);
  play(3, "urUSMFree", none, pointer);
  play(4, "urAdapterRelease", none);
  std::puts("done");
  return 0;
}

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda_api.hpp"

namespace tutti::cuda_device {

/// The primary contexts of the devices, which the CUDA runtime and so most applications use. A context takes memory of
/// its device, so each is started on first use.
class Contexts {
 public:
  Contexts(const Api& api, int devices);

  [[nodiscard]] int devices() const noexcept { return static_cast<int>(slots_.size()); }
  [[nodiscard]] CUcontext primary(int device);
  /// The device whose primary context this is; -1 when it is no primary context.
  [[nodiscard]] int device_of(CUcontext context);

 private:
  struct Slot {
    CUdevice handle = 0;
    std::atomic<CUcontext> context = nullptr;
  };
  const Api& api_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

/// Makes a device the calling thread's current device while the scope exists. Uses the driver's stack of contexts:
/// setting and restoring the runtime's device would start a context on the thread's default device, GPU 0.
class ContextScope {
 public:
  ContextScope(const Api& api, Contexts& contexts, int device);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  const Api& api_;
  bool is_pushed_ = false;
};

}  // namespace tutti::cuda_device

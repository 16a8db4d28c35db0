#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The machine that the fake pretends to be: devices, contexts and what each thread has current. Never destroyed.
namespace tutti::test::fake_cuda {

inline constexpr int kRuntimeVersion = CUDART_VERSION;
inline constexpr std::size_t kDeviceBytes = std::size_t{4} << 30;

/// A number from the environment.
[[nodiscard]] int setting(const char* name, int otherwise);

/// Stands for the primary context, the only one a device has.
struct Context {
  int device = 0;
};

struct Device {
  int physical = 0;  ///< before CUDA_VISIBLE_DEVICES
  Context context;
  std::atomic<bool> has_context = false;
  /// What broke it: it then refuses everything.
  std::atomic<cudaError_t> failure = cudaSuccess;
  std::atomic<std::size_t> used_bytes = 0;
};

class Machine {
 public:
  static Machine& instance();

  /// Whether there is a driver that is new enough.
  [[nodiscard]] cudaError_t status() const noexcept { return status_; }
  [[nodiscard]] int driver_version() const noexcept { return driver_version_; }
  [[nodiscard]] int device_count() const noexcept { return static_cast<int>(devices_.size()); }
  [[nodiscard]] bool has(int device) const noexcept { return device >= 0 && device < device_count(); }
  [[nodiscard]] Device& device(int index) noexcept { return *devices_[static_cast<std::size_t>(index)]; }
  /// "0000:0a:00.0"
  [[nodiscard]] std::string address(int device);
  [[nodiscard]] std::string name(int device);

  [[nodiscard]] static bool may_be_peers();
  [[nodiscard]] bool is_peer(int device, int of);
  /// False when it was so already.
  bool set_peer(int device, int of, bool is_on);

  /// Whether an allocation waits for the work of its device.
  std::atomic<bool> lets_allocations_wait = false;

  void record_violation(std::string text);
  [[nodiscard]] std::vector<std::string> take_violations();

 private:
  Machine();

  cudaError_t status_ = cudaSuccess;
  int driver_version_;
  std::vector<Device*> devices_;
  std::mutex mutex_;
  std::set<std::pair<int, int>> peers_;
  std::vector<std::string> violations_;
};

/// What CUDA keeps for a thread.
struct ThreadState {
  int device = 0;                  ///< of the runtime, where no context is current
  std::vector<Context*> contexts;  ///< the last is current
  cudaError_t last_error = cudaSuccess;
  bool is_in_callback = false;
};
[[nodiscard]] ThreadState& this_thread() noexcept;

/// The device of the calling thread.
[[nodiscard]] int current_device() noexcept;
/// The same, with its context made current, as a call that needs one does.
[[nodiscard]] int use_current_device();

/// Records the violation and gives back `error`.
cudaError_t violate(cudaError_t error, std::string text);
/// The same where the device is broken by it.
cudaError_t violate_on(int device, cudaError_t error, std::string text);

/// Common to all functions: the driver is there, no callback calls it, the device is in order. `device` -1: none.
[[nodiscard]] cudaError_t may_call(const char* function, int device = -1);
/// The same for a function of the runtime that starts the device of a thread which has no context, though it may not
/// need it.
[[nodiscard]] cudaError_t may_use(const char* function);

/// Remembers an error for cudaGetLastError.
inline cudaError_t leave(cudaError_t error) noexcept {
  if (error != cudaSuccess) this_thread().last_error = error;
  return error;
}

[[nodiscard]] std::string hexadecimal(const void* pointer);

}  // namespace tutti::test::fake_cuda

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

/// The fake machine: devices, contexts and the current context of each thread. Never destroyed.
namespace tutti::test::fake_cuda {

inline constexpr int kRuntimeVersion = CUDART_VERSION;
inline constexpr std::size_t kDeviceBytes = std::size_t{4} << 30;

/// Number in an environment variable, or `otherwise` if it is not set.
[[nodiscard]] int setting(const char* name, int otherwise);

/// The primary context, the only context of a device.
struct Context {
  int device = 0;
};

struct Device {
  int physical = 0;  ///< number before CUDA_VISIBLE_DEVICES is applied
  Context context;
  std::atomic<bool> has_context = false;
  /// Error of a violation; the device then refuses all calls.
  std::atomic<cudaError_t> failure = cudaSuccess;
  std::atomic<std::size_t> used_bytes = 0;
};

class Machine {
 public:
  static Machine& instance();

  /// cudaSuccess if there are a device and a driver that is new enough.
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
  /// False if there was nothing to change.
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

/// State of CUDA for a thread.
struct ThreadState {
  int device = 0;                  ///< device of the runtime if no context is current
  std::vector<Context*> contexts;  ///< the last is current
  cudaError_t last_error = cudaSuccess;
  bool is_in_callback = false;
};
[[nodiscard]] ThreadState& this_thread() noexcept;

/// The device of the calling thread.
[[nodiscard]] int current_device() noexcept;
/// The same, and makes its context current, as calls that need a context do.
[[nodiscard]] int use_current_device();

/// Records a violation and returns `error`.
cudaError_t violate(cudaError_t error, std::string text);
/// The same for a violation after which the device refuses all calls.
cudaError_t violate_on(int device, cudaError_t error, std::string text);

/// Check at the start of each function: there is a driver, the caller is no callback, and the device (-1: none) has no
/// error.
[[nodiscard]] cudaError_t may_call(const char* function, int device = -1);
/// The same for functions of the runtime that create the context of the thread's device, even if they do not need it.
[[nodiscard]] cudaError_t may_use(const char* function);

/// Remembers an error for cudaGetLastError.
inline cudaError_t leave(cudaError_t error) noexcept {
  if (error != cudaSuccess) this_thread().last_error = error;
  return error;
}

[[nodiscard]] std::string hexadecimal(const void* pointer);

}  // namespace tutti::test::fake_cuda

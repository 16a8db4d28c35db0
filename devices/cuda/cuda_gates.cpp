#include "cuda_gates.hpp"

#include <condition_variable>

#include "cuda_events.hpp"

namespace tutti::cuda_device {

/// The stream waits for a word of pinned memory. `closed_` counts the gate from before the stream waits until it is
/// open.
class Gates::WordGate final : public spi::DeviceGate {
 public:
  WordGate(Gates& gates, Device device) : gates_(gates), closed_(gates.memory_), word_(gates.take(device)) {}
  ~WordGate() override {
    do_open();
    gates_.give(word_);
  }
  /// False when the driver does not support it.
  [[nodiscard]] bool close(cudaStream_t stream) const {
    // With unified addressing pinned memory has the same address on the host and on the device.
    const auto address = reinterpret_cast<CUdeviceptr>(word_.value);
    const CUresult result =
        gates_.api_.stream_wait_value32(stream, address, word_.number, unsigned{CU_STREAM_WAIT_VALUE_GEQ});
    if (result == CUDA_ERROR_NOT_SUPPORTED) return false;
    if (result != CUDA_SUCCESS) gates_.api_.fail(gates_.api_.stream_wait_value32.name(), result);
    return true;
  }

 private:
  void do_open() noexcept override {
    if (is_open_.exchange(true)) return;
    // Release: the host's earlier writes are visible when the stream goes on.
    std::atomic_ref(*word_.value).store(word_.number, std::memory_order_release);
    closed_.end();
  }

  Gates& gates_;
  MemoryBook::Closed closed_;
  Word word_;
  std::atomic<bool> is_open_ = false;
};

class Gates::FunctionGate final : public spi::DeviceGate {
 public:
  explicit FunctionGate(Gates& gates) : closed_(gates.memory_), state_(std::make_shared<State>()) {}
  ~FunctionGate() override { do_open(); }

  void close(const Api& api, cudaStream_t stream) const {
    auto shared = std::make_unique<std::shared_ptr<State>>(state_);
    api.call(&Api::launch_host_func, stream, &wait, static_cast<void*>(shared.get()));
    (void)shared.release();  // `wait` owns it now
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_open = false;
  };
  static void CUDART_CB wait(void* argument) {
    const std::unique_ptr<std::shared_ptr<State>> shared(static_cast<std::shared_ptr<State>*>(argument));
    State& state = **shared;
    std::unique_lock lock(state.mutex);
    state.changed.wait(lock, [&] { return state.is_open; });
  }
  void do_open() noexcept override {
    const std::scoped_lock lock(state_->mutex);
    if (std::exchange(state_->is_open, true)) return;
    state_->changed.notify_all();
    closed_.end();
  }

  MemoryBook::Closed closed_;
  std::shared_ptr<State> state_;
};

std::unique_ptr<spi::DeviceGate> Gates::hold(const Stream& stream) {
  if (api_.stream_wait_value32 && has_wait_value_.load(std::memory_order_relaxed)) {
    auto gate = std::make_unique<WordGate>(*this, stream.device());
    if (gate->close(native(stream))) return gate;
    has_wait_value_.store(false, std::memory_order_relaxed);
  }
  auto gate = std::make_unique<FunctionGate>(*this);
  gate->close(api_, native(stream));
  return gate;
}

Gates::Word Gates::take(Device device) {
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kWords = 256;
  const std::scoped_lock lock(mutex_);
  if (idle_.empty()) {
    void* page = nullptr;
    api_.call(&Api::host_alloc, &page, kLine * kWords, unsigned{cudaHostAllocPortable});
    spi::report_allocation("cuda", page, kLine * kWords, {device, MemoryKind::host});
    for (std::size_t i = 0; i < kWords; ++i) {
      auto* value = reinterpret_cast<std::uint32_t*>(static_cast<std::byte*>(page) + i * kLine);
      *value = 0;
      idle_.push_back({value, 0});
    }
  }
  Word word = idle_.back();
  idle_.pop_back();
  ++word.number;
  return word;
}

void Gates::give(Word word) noexcept {
  const std::scoped_lock lock(mutex_);
  idle_.push_back(word);
}

}  // namespace tutti::cuda_device

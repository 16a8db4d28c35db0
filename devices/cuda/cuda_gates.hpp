#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda_api.hpp"
#include "cuda_memory.hpp"
#include "tutti/spi/device.hpp"

namespace tutti::cuda_device {

/// Makes gates. Where the driver supports it, the stream waits for a word of pinned memory that the host sets; the
/// hardware does that, and no host thread waits. Otherwise the stream waits for a host function on the driver's thread:
/// all host functions of the process then queue behind a closed gate.
class Gates {
 public:
  Gates(const Api& api, MemoryBook& memory) : api_(api), memory_(memory) {}

  /// To be called in a ContextScope of the stream's device.
  [[nodiscard]] std::unique_ptr<spi::DeviceGate> hold(const Stream& stream);

 private:
  class WordGate;
  class FunctionGate;
  /// A word in pinned memory. The stream waits until the word reaches a number, and each gate takes the next number. So
  /// a word can be reused at once: a stream that has not looked yet finds that its number has passed.
  struct Word {
    std::uint32_t* value = nullptr;
    std::uint32_t number = 0;
  };
  [[nodiscard]] Word take(Device device);
  void give(Word word) noexcept;

  const Api& api_;
  MemoryBook& memory_;
  std::atomic<bool> has_wait_value_ = true;  ///< until the driver says otherwise
  std::mutex mutex_;
  std::vector<Word> idle_;
};

}  // namespace tutti::cuda_device

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda_api.hpp"
#include "cuda_memory.hpp"
#include "tutti/spi/device.hpp"

namespace tutti::cuda_device {

/// Makes gates. A stream waits for a word of pinned memory that the host sets, where the driver can do that (it is in
/// the hardware: nothing on the host waits). Where not, it waits for a function that the driver runs on a thread of its
/// own: all host functions of the process then stand behind a closed gate.
class Gates {
 public:
  Gates(const Api& api, MemoryBook& memory) : api_(api), memory_(memory) {}

  /// Within a ContextScope of the stream's device.
  [[nodiscard]] std::unique_ptr<spi::DeviceGate> hold(const Stream& stream);

 private:
  class WordGate;
  class FunctionGate;
  /// A word in pinned memory. The stream waits for it to reach a number and each gate takes the next one, so that a
  /// word can be used again at once: a stream that has not yet looked finds its own number passed.
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

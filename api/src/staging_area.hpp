#pragma once

#include <array>
#include <memory>
#include <vector>

#include "staging_plan.hpp"
#include "tutti/spi/device.hpp"

namespace tutti {

/// Pinned host memory on one side of a device, reported to the observer.
class PinnedMemory {
 public:
  PinnedMemory(spi::DeviceRuntime& runtime, const Stream& stream) noexcept : runtime_(runtime), stream_(stream) {}
  ~PinnedMemory() { release(); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  /// At least `bytes`; what it held is lost.
  void require(std::size_t bytes);
  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }

 private:
  void release() noexcept;

  spi::DeviceRuntime& runtime_;
  Stream stream_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The host's image of one piece of an operation, and the copies between it and the device.
class StagingSlot {
 public:
  StagingSlot(spi::DeviceRuntime& runtime, const Stream& in, const Stream& out) noexcept
      : runtime_(runtime), in_(in), out_(out), input_(runtime, in), output_(runtime, out) {}

  /// Waits for copies that an error left under way.
  ~StagingSlot();
  StagingSlot(const StagingSlot&) = delete;
  StagingSlot& operator=(const StagingSlot&) = delete;

  /// Begins to copy the input of a piece to the host, where its operation finds it.
  void fetch(const Operation& whole, StagedPiece piece);
  void wait_fetched() { wait(fetching_); }
  /// The piece's operation on host memory; between wait_fetched() and deliver().
  [[nodiscard]] const Operation& operation() const noexcept { return piece_.operation; }
  /// Begins to copy the result to the device.
  void deliver(const Operation& whole);
  void wait_delivered() { wait(delivering_); }

 private:
  using Events = std::vector<std::unique_ptr<spi::DeviceEvent>>;
  static void wait(Events& events);

  spi::DeviceRuntime& runtime_;
  const Stream& in_;
  const Stream& out_;
  PinnedMemory input_;
  PinnedMemory output_;
  StagedPiece piece_;
  Events fetching_;
  Events delivering_;
};

/// What staging keeps for a device and context: a stream for each direction and two slots, so that one piece is copied
/// while another is under way between the ranks. Used by one thread at a time.
class StagingArea {
 public:
  explicit StagingArea(const Stream& beside);

  [[nodiscard]] spi::DeviceRuntime& runtime() const noexcept { return runtime_; }
  [[nodiscard]] std::uint64_t key() const noexcept { return key_; }
  [[nodiscard]] StagingSlot& slot(std::uint64_t index) noexcept { return *slots_[index % slots_.size()]; }
  /// For a backend that gets at the memory by itself.
  [[nodiscard]] const Stream& stream() const noexcept { return in_->stream(); }
  [[nodiscard]] std::unique_ptr<StagingSlot> make_slot() {
    return std::make_unique<StagingSlot>(runtime_, in_->stream(), out_->stream());
  }

 private:
  spi::DeviceRuntime& runtime_;
  std::uint64_t key_;
  std::unique_ptr<spi::DeviceStream> in_;
  std::unique_ptr<spi::DeviceStream> out_;
  std::array<std::unique_ptr<StagingSlot>, 2> slots_;
};

}  // namespace tutti

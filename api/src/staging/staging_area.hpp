#pragma once

#include <array>
#include <memory>
#include <vector>

#include "staging/staging_plan.hpp"
#include "tutti/spi/device.hpp"

namespace tutti {

/// Pinned host memory on one side of a device, reported to the observer.
class PinnedMemory {
 public:
  PinnedMemory(spi::DeviceRuntime& runtime, const Stream& stream, std::size_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  spi::DeviceRuntime& runtime_;
  Stream stream_;
  std::size_t bytes_;
  void* data_ = nullptr;
};

/// How much a slot holds.
struct SlotBytes {
  std::size_t input = 0;
  std::size_t output = 0;
};

/// The host's image of one piece of an operation, and the copies between it and the device. All its memory is there
/// from the beginning.
class StagingSlot {
 public:
  StagingSlot(spi::DeviceRuntime& runtime, const Stream& in, const Stream& out, SlotBytes bytes)
      : runtime_(runtime), in_(in), out_(out), input_(runtime, in, bytes.input), output_(runtime, out, bytes.output) {}

  ~StagingSlot() { settle(); }
  StagingSlot(const StagingSlot&) = delete;
  StagingSlot& operator=(const StagingSlot&) = delete;

  [[nodiscard]] SlotBytes bytes() const noexcept { return {input_.bytes(), output_.bytes()}; }
  /// Begins to copy the input of a piece that it holds to the host, where its operation finds it.
  void fetch(const Operation& whole, StagedPiece piece);
  void wait_fetched() { wait(fetching_); }
  /// The piece's operation on host memory; between wait_fetched() and deliver().
  [[nodiscard]] const Operation& operation() const noexcept { return piece_.operation; }
  /// Begins to copy the result to the device.
  void deliver(const Operation& whole);
  void wait_delivered() { wait(delivering_); }
  /// Waits for copies that an error left under way.
  void settle() noexcept;

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

/// Memory that an operation is staged in: one piece is copied while another is under way between the ranks. The second
/// is null where there is one piece only.
using StagingSlots = std::array<std::shared_ptr<StagingSlot>, 2>;

/// Resources of staging for a device and context: a stream for each direction and the slots. Used by one thread at a
/// time; its slots by another.
class StagingArea {
 public:
  explicit StagingArea(const Stream& beside);

  [[nodiscard]] spi::DeviceRuntime& runtime() const noexcept { return runtime_; }
  [[nodiscard]] std::uint64_t key() const noexcept { return key_; }
  /// Slots for an operation: those that are kept, or larger ones, which then are unless they are very large. Whoever
  /// uses the others goes on doing so.
  [[nodiscard]] StagingSlots slots(const StagingPlan& plan);
  /// For a backend that gets at the memory by itself.
  [[nodiscard]] const Stream& stream() const noexcept { return in_->stream(); }
  [[nodiscard]] std::unique_ptr<StagingSlot> make_slot(SlotBytes bytes) {
    return std::make_unique<StagingSlot>(runtime_, in_->stream(), out_->stream(), bytes);
  }

 private:
  spi::DeviceRuntime& runtime_;
  std::uint64_t key_;
  std::unique_ptr<spi::DeviceStream> in_;
  std::unique_ptr<spi::DeviceStream> out_;
  StagingSlots slots_;
};

}  // namespace tutti

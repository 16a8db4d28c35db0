#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/scratch_pool.hpp"
#include "tutti/spi/device.hpp"
#include "tutti/stream.hpp"

namespace tutti::ccl {

/// What the operations of a channel need besides their buffers: scratch memory that grows to what was needed once, and
/// copies. On the host, or on a device; there with an in-order stream of its own, which the calls of oneCCL are ordered
/// by too. Used by one thread at a time.
class Workspace {
 public:
  /// On the host.
  Workspace() noexcept = default;
  /// On the device and in the context of a stream.
  explicit Workspace(const Stream& beside);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  [[nodiscard]] bool is_host() const noexcept { return own_ == nullptr; }
  /// The stream of its own.
  [[nodiscard]] const Stream& stream() const noexcept { return own_->stream(); }
  [[nodiscard]] spi::DeviceRuntime& runtime() const noexcept { return *runtime_; }
  /// Further memory of the device.
  [[nodiscard]] common::ScratchPool& pool() noexcept { return *pool_; }
  /// A number that no other workspace of this process has; 0 on the host.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

  /// At least so many bytes; what was in it stays unless it grows.
  [[nodiscard]] std::byte* input(std::uint64_t bytes) { return grow(input_, bytes); }
  [[nodiscard]] std::byte* output(std::uint64_t bytes) { return grow(output_, bytes); }
  /// Copies, or enqueues the copy.
  void copy(void* to, const void* from, std::uint64_t bytes);
  /// Waits for copies that are under way.
  void settle();

 private:
  struct Scratch {
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] std::byte* grow(Scratch& scratch, std::uint64_t bytes);
  void release(Scratch& scratch) noexcept;

  std::unique_ptr<spi::DeviceStream> own_;
  spi::DeviceRuntime* runtime_ = nullptr;
  std::optional<common::ScratchPool> pool_;
  std::uint64_t number_ = 0;
  Scratch input_;
  Scratch output_;
  bool is_copying_ = false;
};

/// The workspaces of a thread, one per device and context it has met.
class Workspaces {
 public:
  [[nodiscard]] std::shared_ptr<Workspace> beside(const Stream& stream);

 private:
  struct Known {
    std::uint64_t key;
    std::shared_ptr<Workspace> workspace;
  };
  std::vector<Known> known_;
};

}  // namespace tutti::ccl

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

/// Resources that the operations of a channel need besides their buffers: copies, and scratch memory that only grows.
/// On the host or on a device; on a device with an in-order stream of its own, which orders oneCCL's calls too. Used by
/// one thread at a time.
class Workspace {
 public:
  /// On the host.
  Workspace() noexcept = default;
  /// On the device and in the context of the stream `beside`.
  explicit Workspace(const Stream& beside);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  [[nodiscard]] bool is_host() const noexcept { return own_ == nullptr; }
  /// The workspace's own stream; only on a device.
  [[nodiscard]] const Stream& stream() const noexcept { return own_->stream(); }
  [[nodiscard]] spi::DeviceRuntime& runtime() const noexcept { return *runtime_; }
  /// A pool of device memory; only on a device.
  [[nodiscard]] common::ScratchPool& pool() noexcept { return *pool_; }
  /// A number that is unique in this process; 0 on the host.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

  /// Scratch memory of at least `bytes` bytes. Its contents are kept unless it has to grow.
  [[nodiscard]] std::byte* input(std::uint64_t bytes) { return grow(input_, bytes); }
  [[nodiscard]] std::byte* output(std::uint64_t bytes) { return grow(output_, bytes); }
  /// Copies on the host; enqueues a copy on a device.
  void copy(void* to, const void* from, std::uint64_t bytes);
  /// Waits for enqueued copies.
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

/// The workspaces of a thread, one per device and context; the oldest is dropped when there are too many.
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

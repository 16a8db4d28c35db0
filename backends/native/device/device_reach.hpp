#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tutti/spi/device.hpp"
#include "tutti/spi/module.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::native {

/// Description of a rank's device memory in a collective, for the other ranks. Lies in the rank's mailbox.
struct DeviceOffer {
  /// A buffer; all zero if the rank has none, or none that others read.
  struct Part {
    const void* pointer;  ///< for ranks of the same process
    std::uint32_t handle_bytes;
    std::array<std::byte, 192> handle;  ///< spi::IpcHandle
  };

  std::array<char, 16> module;
  Part input;
  Part output;
  bool is_complete;  ///< all buffers that others read are described
  bool reduces;      ///< the rank's device can carry out the reduction of the operation
};

/// Access to device memory of other ranks: by pointer between threads of one process whose streams reach it, otherwise
/// by IPC handles of the device module.
///
/// No memory stays open from one collective to the next. Memory that others have open must not be freed, and its owner
/// may free it as soon as the call has returned; nor does a handle tell whether it still means the same memory.
///
/// As in Reach, all ranks see the same offers and verdicts, so they all give up at the same time.
class DeviceReach {
 public:
  /// If `wanted` is false, wants() is always false.
  DeviceReach(const spi::Peers& peers, bool wanted);
  ~DeviceReach() { close(); }
  DeviceReach(const DeviceReach&) = delete;
  DeviceReach& operator=(const DeviceReach&) = delete;

  /// Whether it is worth asking the other ranks; the same answer on all ranks.
  [[nodiscard]] bool wants(const Operation& operation) const noexcept;
  /// Whether this rank reads the input of `rank`, which may be this rank.
  [[nodiscard]] bool reads_from(int rank, const Operation& operation) const noexcept;

  /// Description of this rank's memory for the other ranks.
  [[nodiscard]] DeviceOffer offer(const Operation& operation) const;
  /// Whether the offers of all ranks are sufficient; if not, wants() refuses such operations, or all, from now on.
  [[nodiscard]] bool is_possible(const Operation& operation, const std::vector<const DeviceOffer*>& offers) noexcept;
  /// Opens the memory that this rank reads; false when that fails.
  [[nodiscard]] bool open(const Operation& operation, const std::vector<const DeviceOffer*>& offers);
  /// Closes the memory of other ranks; the collective goes on.
  void close_imports() noexcept;
  /// Closes the memory of other ranks at the end of the collective.
  void close() noexcept;
  /// To be called when a rank could not open the memory of another: closes it and makes wants() false for good.
  void give_up() noexcept;

  /// True from an open() that succeeded to close().
  [[nodiscard]] bool is_open() const noexcept { return runtime_ != nullptr; }
  [[nodiscard]] const std::byte* input(int rank) const noexcept { return at(inputs_, rank); }
  [[nodiscard]] const std::byte* output(int rank) const noexcept { return at(outputs_, rank); }

 private:
  [[nodiscard]] static const std::byte* at(const std::vector<const void*>& parts, int rank) noexcept {
    return static_cast<const std::byte*>(parts[static_cast<std::size_t>(rank)]);
  }
  [[nodiscard]] bool fill(DeviceOffer::Part& part, const Operation& operation, const void* pointer) const;
  [[nodiscard]] const void* open(const DeviceOffer::Part& part);

  int rank_;
  int size_;
  bool same_process_;
  bool given_up_;
  std::uint32_t unreduced_ = 0;  ///< bits of the types that the device of some rank cannot reduce

  spi::DeviceRuntime* runtime_ = nullptr;  ///< null when no memory is open
  Stream stream_;
  std::vector<const void*> inputs_;
  std::vector<const void*> outputs_;
  std::vector<void*> imported_;
};

}  // namespace tutti::native

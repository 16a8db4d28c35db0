#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tutti/operation.hpp"
#include "tutti/spi/device.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::native {

/// What a rank tells the others about the device memory of a collective. Lies in its mailbox.
struct DeviceOffer {
  /// A buffer; of no bytes where it has none, or none that others read.
  struct Part {
    const void* pointer;  ///< for ranks of the same process
    std::uint32_t handle_bytes;
    std::array<std::byte, 192> handle;  ///< spi::IpcHandle
  };

  std::array<char, 16> module;
  Part input;
  Part output;
  bool is_complete;  ///< others can be told of all that they have to read
  bool reduces;      ///< its device carries out the reduction of the operation
};

/// How a rank gets at device memory of the others: as it is where they are threads of one process whose streams reach
/// it, otherwise by the handles of the device module.
///
/// Nothing stays open from one collective to the next. What others have opened must not be freed, and an owner may free
/// its memory as soon as its call has returned; nor does a handle tell whether it still means the same memory.
///
/// Like Reach: all ranks see the same offers and verdicts, so what one has given up, all have.
class DeviceReach {
 public:
  /// `wanted` false: never.
  DeviceReach(const spi::Peers& peers, bool wanted);
  ~DeviceReach() { close(); }
  DeviceReach(const DeviceReach&) = delete;
  DeviceReach& operator=(const DeviceReach&) = delete;

  /// Whether it is worth asking the others; the same answer on all ranks.
  [[nodiscard]] bool wants(const Operation& operation) const noexcept;
  /// Whether this rank reads the input of another, or of itself.
  [[nodiscard]] bool reads_from(int rank, const Operation& operation) const noexcept;

  /// What this rank has to offer.
  [[nodiscard]] DeviceOffer offer(const Operation& operation) const;
  /// Whether all that is needed was offered. `offers` are those of all ranks.
  [[nodiscard]] bool is_possible(const Operation& operation, const std::vector<const DeviceOffer*>& offers) noexcept;
  /// Opens what this rank reads of them; false when that cannot be.
  [[nodiscard]] bool open(const Operation& operation, const std::vector<const DeviceOffer*>& offers);
  /// Returns the memory of others; the collective is not over.
  void close_imports() noexcept;
  /// The collective is over.
  void close() noexcept;
  /// A rank could not open what was offered.
  void give_up() noexcept;

  /// From an open() that succeeded to close().
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
  std::uint32_t unreduced_ = 0;  ///< types whose reductions the device of some rank does not know

  spi::DeviceRuntime* runtime_ = nullptr;  ///< null: no collective is under way
  Stream stream_;
  std::vector<const void*> inputs_;
  std::vector<const void*> outputs_;
  std::vector<void*> imported_;
};

}  // namespace tutti::native

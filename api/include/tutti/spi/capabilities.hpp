#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tutti/device.hpp"
#include "tutti/types/data_type.hpp"
#include "tutti/types/operation.hpp"
#include "tutti/types/reduction.hpp"

namespace tutti::spi {

/// Operations, types and reductions that a backend supports. The communicator emulates missing ones, so a backend
/// reports "unsupported" here and never by an exception.
class Capabilities {
 public:
  /// Supports nothing.
  constexpr Capabilities() noexcept = default;

  constexpr Capabilities& add(OpKind kind) noexcept {
    ops_ |= bit(kind);
    return *this;
  }
  /// Adds an operation that the backend's library lacks: the backend builds it from other calls of the library, better
  /// than the generic emulation. It is reported as emulated.
  constexpr Capabilities& add_built(OpKind kind) noexcept {
    built_ |= bit(kind);
    return add(kind);
  }
  constexpr Capabilities& remove(OpKind kind) noexcept {
    ops_ &= ~bit(kind);
    return *this;
  }
  /// Removes the operations added with add_built().
  constexpr Capabilities& require_own() noexcept {
    ops_ &= ~built_;
    return *this;
  }
  /// Adds a type for operations that only move data (allgather, send, ...).
  constexpr Capabilities& add(DataType type) noexcept {
    types_ |= bit(type);
    return *this;
  }
  /// Adds a reduction of a type. Pairs for which is_defined() is false are never requested.
  constexpr Capabilities& add(Reduction reduction, DataType type) noexcept {
    reductions_[static_cast<std::size_t>(reduction)] |= bit(type);
    return *this;
  }
  /// Sets whether every reduction supports a prescale.
  constexpr Capabilities& set_prescale(bool yes) noexcept {
    prescale_ = yes ? ~std::uint32_t{0} : 0;
    return *this;
  }
  /// Adds support of a prescale for one reduction.
  constexpr Capabilities& add_prescale(Reduction reduction) noexcept {
    prescale_ |= bit(reduction);
    return *this;
  }
  /// Adds a kind of memory of a device module that the backend accepts directly, ordered by a stream of that module if
  /// the operation has one. Other device memory is staged through host memory. For at most 4 modules; their names have
  /// static storage.
  constexpr Capabilities& add(std::string_view device_module, MemoryKind kind) noexcept {
    for (DeviceMemory& row : memory_) {
      if (!row.module.empty() && row.module != device_module) continue;
      row.module = device_module;
      row.kinds = static_cast<std::uint8_t>(row.kinds | bit(kind));
      break;
    }
    return *this;
  }
  /// Sets whether floating-point reductions combine the contributions in rank order with the arithmetic of
  /// spi::ReduceKernel: all backends that do so give the same bits.
  constexpr Capabilities& set_rank_order(bool yes) noexcept {
    rank_order_ = yes;
    return *this;
  }
  /// Removes floating-point reductions unless they are in rank order; they are then emulated by gathering.
  constexpr Capabilities& require_rank_order() noexcept {
    if (rank_order_) return *this;
    for (std::uint32_t& types : reductions_) {
      for (DataType type : kDataTypes) {
        if (is_floating(type)) types &= ~bit(type);
      }
    }
    gathers_ = true;
    return *this;
  }
  /// Supports every operation on host memory.
  [[nodiscard]] static constexpr Capabilities all() noexcept {
    Capabilities result;
    for (const OpTraits& row : kOpTraits) result.add(row.kind);
    for (DataType type : kDataTypes) {
      result.add(type);
      for (Reduction reduction : kReductions) {
        if (is_defined(reduction, type)) result.add(reduction, type);
      }
    }
    return result.set_prescale(true);
  }

  /// Capabilities of a communicator that passes each operation to one of several others: those that all of them have.
  [[nodiscard]] friend constexpr Capabilities operator&(const Capabilities& a, const Capabilities& b) noexcept {
    Capabilities both = a;
    both.ops_ &= b.ops_;
    both.built_ |= b.built_;
    both.types_ &= b.types_;
    for (std::size_t i = 0; i < kReductionCount; ++i) both.reductions_[i] &= b.reductions_[i];
    both.prescale_ &= b.prescale_;
    both.rank_order_ = a.rank_order_ && b.rank_order_;
    both.gathers_ = a.gathers_ || b.gathers_;
    both.memory_ = {};
    for (const DeviceMemory& row : a.memory_) {
      for (const MemoryKind kind : {MemoryKind::host, MemoryKind::device, MemoryKind::shared}) {
        if (!row.module.empty() && a.takes(row.module, kind) && b.takes(row.module, kind)) both.add(row.module, kind);
      }
    }
    return both;
  }

  [[nodiscard]] constexpr bool has(OpKind kind) const noexcept { return (ops_ & bit(kind)) != 0; }
  /// Whether the operation is supported and was added with add_built().
  [[nodiscard]] constexpr bool builds(OpKind kind) const noexcept { return (ops_ & built_ & bit(kind)) != 0; }
  [[nodiscard]] constexpr bool has(DataType type) const noexcept { return (types_ & bit(type)) != 0; }
  [[nodiscard]] constexpr bool has(Reduction reduction, DataType type) const noexcept {
    return (reductions_[static_cast<std::size_t>(reduction)] & bit(type)) != 0;
  }
  [[nodiscard]] constexpr bool has_prescale(Reduction reduction) const noexcept {
    return (prescale_ & bit(reduction)) != 0;
  }
  /// Whether reductions of this type must be emulated by gathering, the only emulation that keeps the rank order.
  [[nodiscard]] constexpr bool must_gather(DataType type) const noexcept { return gathers_ && is_floating(type); }

  /// Whether the backend accepts memory of that kind, and streams, of a device module.
  [[nodiscard]] constexpr bool takes(std::string_view device_module, MemoryKind kind) const noexcept {
    for (const DeviceMemory& row : memory_) {
      if (row.module == device_module) return (row.kinds & bit(kind)) != 0;
    }
    return false;
  }

  /// Whether the backend supports this operation on host memory; ignores where its buffers are. On the hot path of
  /// every call.
  [[nodiscard]] constexpr bool takes(const Operation& op) const noexcept {
    if (!has(op.kind)) return false;
    if (!op.traits().reduces) return has(op.type);
    return has(op.reduction, op.type) && (op.prescale == 1.0 || has_prescale(op.reduction));
  }

 private:
  template <typename Enum>
  [[nodiscard]] static constexpr std::uint32_t bit(Enum value) noexcept {
    return 1u << static_cast<unsigned>(value);
  }
  struct DeviceMemory {
    std::string_view module;
    std::uint8_t kinds = 0;
  };

  std::uint32_t ops_ = 0;
  std::uint32_t built_ = 0;
  std::uint32_t types_ = 0;
  std::array<std::uint32_t, kReductionCount> reductions_ = {};
  std::uint32_t prescale_ = 0;  ///< one bit per reduction
  bool rank_order_ = false;
  bool gathers_ = false;
  std::array<DeviceMemory, 4> memory_ = {};
};

}  // namespace tutti::spi

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tutti/buffer.hpp"
#include "tutti/observer.hpp"
#include "tutti/operation.hpp"
#include "tutti/spi/backend.hpp"

namespace tutti::detail {

/// The part of a communicator that a call looks at first. Not for programs: Communicator::allreduce() is inline, so
/// this has to be seen by the compiler.
struct CallState {
  /// Why a call is more than validating and handing over; zero for most communicators, most of the time. Atomic because
  /// abort() comes from any thread; nothing is published by it.
  enum Special : std::uint32_t { kAborted = 1, kGrouping = 2, kCheck = 4, kStaging = 8 };
  std::atomic<std::uint32_t> special = 0;
  spi::BackendCommunicator* executor = nullptr;
  std::uint64_t sequence = 0;          ///< collectives so far; written by the calls, which the caller orders
  std::chrono::nanoseconds timeout{};  ///< of operations that bring none; zero: the backend's own
  /// By reduction, a bit for each type of which the backend has an allreduce of its own.
  std::array<std::uint32_t, kReductionCount> allreduce_types = {};

  /// Whether this is the case that is nearly always true: correct buffers in host memory, nobody observes, nothing
  /// special, the backend has it. Validation and dispatch check all of it again in the other cases and say what is
  /// wrong.
  [[nodiscard]] bool takes_allreduce(const ConstBuffer& in, const Buffer& out, Reduction reduction) const noexcept {
    const auto* input = static_cast<const std::byte*>(in.data);
    const auto* output = static_cast<const std::byte*>(out.data);
    const std::uint64_t bytes = in.count * size_of(in.type);
    return special.load(std::memory_order_relaxed) == 0 && observer() == nullptr && in.type == out.type &&
           in.count == out.count && in.count < (std::uint64_t{1} << 59) && in.where.kind == MemoryKind::host &&
           out.where.kind == MemoryKind::host && input != nullptr && output != nullptr &&
           (input == output || input + bytes <= output || output + bytes <= input) &&
           (allreduce_types[static_cast<std::size_t>(reduction)] >> static_cast<unsigned>(in.type) & 1u) != 0;
  }

  /// Hands it to the backend; only after takes_allreduce().
  void allreduce(const ConstBuffer& in, const Buffer& out, Reduction reduction) {
    Operation op;
    op.kind = OpKind::allreduce;
    op.type = in.type;
    op.reduction = reduction;
    op.count = in.count;
    op.input = in.data;
    op.output = out.data;
    op.timeout = timeout;
    op.sequence = ++sequence;
    executor->run(op);
  }
};

}  // namespace tutti::detail

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tutti/export.hpp"
#include "tutti/observer.hpp"
#include "tutti/spi/backend.hpp"
#include "tutti/spi/call_progress.hpp"
#include "tutti/types/buffer.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::detail {

/// The part of a communicator that a call checks first. Not for programs: it is in a public header only because
/// Communicator::allreduce() is inline.
struct CallState {
  /// States in which a call needs more than validation and hand-over to the backend; usually none is set. Atomic
  /// because abort() may be called from any thread; relaxed order suffices, since it publishes no other data.
  enum Special : std::uint32_t { kAborted = 1, kCheck = 2, kStaging = 4 };
  std::atomic<std::uint32_t> special = 0;
  spi::BackendCommunicator* executor = nullptr;
  std::uint64_t sequence = 0;  ///< number of collectives so far; not atomic, since the caller serialises the calls
  spi::CallProgress* call_progress = &unshared;  ///< never null: the rank's slot of the progress board, or `unshared`
  std::chrono::nanoseconds timeout{};            ///< of operations without their own; zero: the backend's default
  /// Per reduction, one bit for each data type that the backend's own allreduce supports.
  std::array<std::uint32_t, kReductionCount> allreduce_types = {};

  /// Whether the fast path applies: valid buffers in host memory, no observer, no special state, supported by the
  /// backend. Otherwise validation and dispatch repeat all checks and report errors.
  [[nodiscard]] bool takes_allreduce(const ConstBuffer& in, const Buffer& out, Reduction reduction) const noexcept {
    const auto* input = static_cast<const std::byte*>(in.data);
    const auto* output = static_cast<const std::byte*>(out.data);
    const std::uint64_t bytes = in.count * size_of(in.type);
    return special.load(std::memory_order_relaxed) == 0 && detail::attention.load(std::memory_order_relaxed) == 0 &&
           in.type == out.type && in.count == out.count && in.count < (std::uint64_t{1} << 59) &&
           in.where.kind == MemoryKind::host && out.where.kind == MemoryKind::host && input != nullptr &&
           output != nullptr && (input == output || input + bytes <= output || output + bytes <= input) &&
           (allreduce_types[static_cast<std::size_t>(reduction)] >> static_cast<unsigned>(in.type) & 1u) != 0;
  }

  /// Passes the operation to the backend; requires that takes_allreduce() is true.
  void allreduce(const ConstBuffer& in, const Buffer& out, Reduction reduction, std::string_view label) {
    Operation op;
    op.kind = OpKind::allreduce;
    op.type = in.type;
    op.reduction = reduction;
    op.count = in.count;
    op.input = in.data;
    op.output = out.data;
    op.timeout = timeout;
    op.label = label;
    op.sequence = ++sequence;
    call_progress->enter_collective(spi::CallProgress::words_of(OpKind::allreduce, in.type, reduction), in.count,
                                    op.sequence);
    try {
      executor->run(op);
    } catch (...) {
      leave_after_failure();
    }
    call_progress->leave_collective(sequence);
  }

  /// In a handler: notes that the call has ended, and the failure of the communicator if that is one; then throws the
  /// exception again.
  [[noreturn, gnu::cold]] TUTTI_API void leave_after_failure();

  spi::CallProgress unshared;  ///< in place of a slot that others can read, where there is none
};

}  // namespace tutti::detail

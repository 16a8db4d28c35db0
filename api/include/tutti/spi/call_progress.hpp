#pragma once

#include <atomic>
#include <cstdint>

#include "tutti/export.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::spi {

/// How far a rank has come in one communicator. It may be in memory that other processes read at any time (`tutti ps`,
/// the other ranks), so that "who waits for whom" has an answer when an operation is late. Only the process of the rank
/// writes it: the calls, which the caller orders, in relaxed stores that cost next to nothing. Each value is true on
/// its own; a reader that wants them to belong together reads until activity() stands still.
struct CallProgress {
  /// Collectives are counted by `sequence` and `left`, so that such a call costs no more than the stores of its own
  /// number. `ticks` counts twice the messages and the groups of messages.
  std::atomic<std::uint64_t> sequence = 0;  ///< number of the last collective entered
  std::atomic<std::uint64_t> left = 0;      ///< number of the last collective whose call has returned or thrown
  std::atomic<std::uint64_t> ticks = 0;     ///< of messages: +1 at the entry, +1 at the exit
  std::atomic<std::uint64_t> what = 0;      ///< words_of() the last call entered
  std::atomic<std::uint64_t> count = 0;     ///< its Operation::count
  // Calls that wait for a Work; several threads may do that.
  std::atomic<std::uint64_t> waits = 0;           ///< begun
  std::atomic<std::uint64_t> waited = 0;          ///< ended
  std::atomic<std::uint64_t> since_activity = 0;  ///< activity() for which `since_ns` holds
  std::atomic<std::int64_t> since_ns = 0;         ///< CLOCK_MONOTONIC; when that state was first seen
  std::atomic<std::uint32_t> pending = 0;         ///< operations that were started and have not been seen to complete
  std::atomic<std::uint32_t> thread = 0;          ///< thread that was last seen to wait, or that made the communicator

  /// Marks of a call beside its operation.
  enum Flag : std::uint8_t {
    kGroup = 1,   ///< several operations at once, this one is the last of them
    kStarts = 2,  ///< returns before the operation is complete
  };

  [[nodiscard]] static constexpr std::uint64_t words_of(OpKind kind, DataType type, Reduction reduction,
                                                        std::int32_t root = 0, unsigned flags = 0) noexcept {
    return static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(type) << 8 |
           static_cast<std::uint64_t>(reduction) << 16 | static_cast<std::uint64_t>(flags) << 24 |
           static_cast<std::uint64_t>(static_cast<std::uint32_t>(root)) << 32;
  }

  void enter_collective(std::uint64_t words, std::uint64_t elements, std::uint64_t number) noexcept {
    what.store(words, std::memory_order_relaxed);
    count.store(elements, std::memory_order_relaxed);
    // Release, which costs nothing on x86: a reader that sees the number sees its description, or a later one.
    sequence.store(number, std::memory_order_release);
  }
  void leave_collective(std::uint64_t number) noexcept { left.store(number, std::memory_order_relaxed); }

  void enter_message(std::uint64_t words, std::uint64_t elements) noexcept {
    what.store(words, std::memory_order_relaxed);
    count.store(elements, std::memory_order_relaxed);
    ticks.store(ticks.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  void leave_message() noexcept { ticks.store(ticks.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

  /// Grows with every entry and exit: equal values at two times mean that nothing happened between them.
  [[nodiscard]] std::uint64_t activity() const noexcept {
    constexpr auto kAcquire = std::memory_order_acquire;
    return left.load(kAcquire) + ticks.load(kAcquire) + waited.load(kAcquire) + waits.load(kAcquire) +
           sequence.load(kAcquire);
  }

  /// Notes the time since when the calling thread waits in the present call. For code that has the clock at hand
  /// because it waits: the calls themselves do not read it.
  void waits_since(std::int64_t monotonic_ns) noexcept {
    const std::uint64_t now = activity();
    if (since_activity.load(std::memory_order_relaxed) == now) return;
    lasts_since(monotonic_ns, now);
    note_thread();
  }
  /// Notes the time since when a state lasts, for a thread that watches the others. Nothing happens if the state is
  /// over.
  void lasts_since(std::int64_t monotonic_ns, std::uint64_t seen_activity) noexcept {
    if (since_activity.load(std::memory_order_relaxed) == seen_activity) return;
    since_activity.store(~std::uint64_t{0}, std::memory_order_relaxed);
    since_ns.store(monotonic_ns, std::memory_order_release);
    since_activity.store(seen_activity, std::memory_order_release);
  }

 private:
  TUTTI_API void note_thread() noexcept;
};

}  // namespace tutti::spi

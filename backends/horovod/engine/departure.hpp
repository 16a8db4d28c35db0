#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tutti/rendezvous.hpp"

namespace tutti::horovod {

/// Tells the ranks of a process set that one of them shuts down: a rank that has no tensors takes part in no round, so
/// the others cannot learn it there. Thread-safe.
class Departure {
 public:
  /// `meeting`: of the process set, with a scope of its own.
  explicit Departure(Rendezvous meeting) : meeting_(std::move(meeting)) {}

  enum class Reason : std::uint8_t { shutdown, failure };
  /// This rank takes part in the first `rounds` rounds and in no other.
  void announce(std::uint64_t rounds, Reason reason) noexcept;
  /// The rounds of the first rank that has shut down; nothing if none has. A store that has ended counts as a rank that
  /// has shut down, since its server does that with the job.
  [[nodiscard]] std::optional<std::uint64_t> seen() noexcept;
  /// Whether a rank has announced its end; false if the store has ended.
  [[nodiscard]] bool is_announced() noexcept { return !announced().empty(); }
  /// Whether the first rank that has announced its end shuts down.
  [[nodiscard]] bool is_shutdown() noexcept;

 private:
  [[nodiscard]] std::string announced() noexcept;

  Rendezvous meeting_;
};

}  // namespace tutti::horovod

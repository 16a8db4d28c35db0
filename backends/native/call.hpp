#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "segment/layout.hpp"
#include "tutti/operation.hpp"

/// What the ranks called: compared by fingerprint on every collective, put into words when they differ.
namespace tutti::native {

/// The part of an operation that ranks must agree on, or tell each other about.
struct Call {
  OpKind kind;
  DataType type;
  Reduction reduction;
  std::int32_t root;
  std::uint64_t count;
  double prescale;
  std::uint64_t sequence;

  [[nodiscard]] static Call of(const Operation& operation) noexcept;
  [[nodiscard]] static Call load(const CallRecord& record) noexcept;
  void store(CallRecord& record) const noexcept;
};

/// A hash of what must be equal on all ranks of the operation: kind and type always, count, root, reduction and
/// prescale and the block counts where they are common to all ranks.
[[nodiscard]] std::uint64_t fingerprint(const Operation& operation, int ranks) noexcept;

/// "allreduce #17".
[[nodiscard]] std::string short_name(const Call& call);
/// "allreduce #17 of 16777216 float32 (64 MiB)".
[[nodiscard]] std::string long_name(const Call& call);
/// "allreduce #5: rank 0 has 100 float32, rank 1 has 200 float32".
[[nodiscard]] std::string explain_mismatch(int rank, const Call& mine, int peer, const Call& theirs);

}  // namespace tutti::native

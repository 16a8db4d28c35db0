#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "segment/layout.hpp"
#include "tutti/types/operation.hpp"

/// Comparison of the calls of the ranks: by fingerprint on every collective, in words when they differ.
namespace tutti::native {

/// The part of an operation on which the ranks must agree, or which they need for error messages.
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

/// Whether nothing that a call shows differs; the block counts of vector forms are not shown.
[[nodiscard]] bool is_same_call(const Call& mine, const Call& theirs) noexcept;

/// "allreduce #17".
[[nodiscard]] std::string short_name(const Call& call);
/// "allreduce #17 of 16777216 float32 (64 MiB)".
[[nodiscard]] std::string long_name(const Call& call);
/// "allreduce #5: rank 0 has 100 float32, rank 1 has 200 float32".
[[nodiscard]] std::string explain_mismatch(int rank, const Call& mine, int peer, const Call& theirs);

}  // namespace tutti::native

#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "gains/tuned_gains.hpp"
#include "tutti/config.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::adapters::mpi {

/// Decides which calls tutti carries out. Uses only facts that all ranks of a call have, so that they decide alike.
class Rules {
 public:
  static constexpr std::uint64_t kLargestElement = 8;  ///< bytes, of types that are reduced

  /// Nothing is carried out.
  Rules() noexcept;
  /// Throws Error{config} that names the variable for an operation that is unknown.
  explicit Rules(const Config& config);

  /// Whether the settings leave the sizes to a tuning table.
  [[nodiscard]] bool wants_table() const noexcept { return wants_table_; }
  [[nodiscard]] bool has_table() const noexcept { return tuned_.has_value(); }
  /// Takes the sizes from a table, which all ranks must have.
  void adopt(TunedGains gains);
  /// Sizes by the table for groups of `ranks`; nothing without one.
  [[nodiscard]] std::optional<GainingSizes> sizes(int ranks) const noexcept {
    if (!tuned_) return std::nullopt;
    return tuned_->sizes(ranks, least_);
  }

  /// `bytes`: of the call as all ranks know it; nothing: of an operation whose size a rank may not know. `sizes`: those
  /// of its group, or null.
  [[nodiscard]] bool takes(OpKind kind, tutti::TypeClass types, std::optional<std::uint64_t> bytes,
                           const GainingSizes* sizes) const noexcept {
    const auto index = static_cast<std::size_t>(kind);
    if (!bytes) return takes_unsized_[index];
    const bool gains = sizes != nullptr ? sizes->has(kind, types, *bytes) : *bytes >= least_[index];
    return gains && (*bytes <= kMost || traits(kind).reduces);
  }
  /// Whether a reduction of `count` elements is too small, even of the largest type. Says no where that is not known at
  /// once.
  [[nodiscard]] bool is_too_small(OpKind kind, std::int64_t count) const noexcept {
    const std::uint64_t least = least_[static_cast<std::size_t>(kind)];
    return !tuned_ && count >= 0 && static_cast<std::uint64_t>(count) < least / kLargestElement;
  }
  /// Whether a non-blocking call of this size gains, too. A thread carries it out, which costs more than the tables
  /// know; where the sizes are set by variables, they hold for these calls as well.
  [[nodiscard]] bool gains_issued(std::uint64_t bytes) const noexcept {
    return !wants_table_ || bytes >= least_issued_;
  }
  /// By the text of MPI_Get_library_version.
  void set_library(std::string_view version) noexcept;
  /// Whether calls of this kind may be taken at all.
  [[nodiscard]] bool may_take(OpKind kind) const noexcept {
    const auto index = static_cast<std::size_t>(kind);
    return least_[index] != kNever || takes_unsized_[index] || is_tuned_[index];
  }
  /// Where the sizes come from, for the report.
  [[nodiscard]] std::string describe_sizes() const;
  /// Number of suitable calls on a communicator before tutti makes its own.
  [[nodiscard]] std::uint64_t after() const noexcept { return after_; }
  /// Equal on ranks that decide alike.
  [[nodiscard]] std::uint64_t key() const noexcept { return key_; }
  [[nodiscard]] bool shows() const noexcept { return shows_; }

 private:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  /// Of data that is only moved: MPI packs derived types in pieces whose size is an int.
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 31;

  LeastSizes least_;
  std::array<bool, kOpKindCount> takes_unsized_{};
  std::array<bool, kOpKindCount> is_tuned_{};  ///< the table has rows for it
  std::uint64_t least_issued_ = 0;
  std::uint64_t after_ = 0;
  std::uint64_t key_ = 0;
  bool shows_ = false;
  bool wants_table_ = false;
  std::optional<TunedGains> tuned_;
};

/// Whether ranks may not know the size of such a call: each knows its own parts only.
[[nodiscard]] constexpr bool is_unsized(OpKind kind) noexcept {
  return (is_vector(kind) && !has_common_counts(kind)) || kind == OpKind::barrier;
}

}  // namespace tutti::adapters::mpi

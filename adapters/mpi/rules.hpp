#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "tutti/config.hpp"
#include "tutti/operation.hpp"

namespace tutti::adapters::mpi {

/// Decides which calls tutti carries out. Uses only facts that all ranks of a call have, so that they decide alike.
class Rules {
 public:
  /// Nothing is carried out.
  Rules() noexcept;
  /// Throws Error{config} that names the variable for an operation that is unknown.
  explicit Rules(const Config& config);

  /// `bytes`: of the call as all ranks know it; nothing: of an operation whose size a rank may not know.
  [[nodiscard]] bool takes(OpKind kind, std::optional<std::uint64_t> bytes) const noexcept {
    const auto index = static_cast<std::size_t>(kind);
    if (!bytes) return takes_unsized_[index];
    return *bytes >= least_[index] && (*bytes <= kMost || traits(kind).reduces);
  }
  /// Whether calls of this kind may be taken at all.
  [[nodiscard]] bool may_take(OpKind kind) const noexcept {
    const auto index = static_cast<std::size_t>(kind);
    return least_[index] != kNever || takes_unsized_[index];
  }
  /// Number of suitable calls on a communicator before tutti makes its own.
  [[nodiscard]] std::uint64_t after() const noexcept { return after_; }
  /// Equal on ranks that decide alike.
  [[nodiscard]] std::uint64_t key() const noexcept { return key_; }
  [[nodiscard]] bool shows() const noexcept { return shows_; }

 private:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  /// Of data that is only moved: MPI packs derived types in pieces whose size is an int.
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 31;

  std::array<std::uint64_t, kOpKindCount> least_;
  std::array<bool, kOpKindCount> takes_unsized_{};
  std::uint64_t after_ = 0;
  std::uint64_t key_ = 0;
  bool shows_ = false;
};

/// Whether ranks may not know the size of such a call: each knows its own parts only.
[[nodiscard]] constexpr bool is_unsized(OpKind kind) noexcept {
  return (is_vector(kind) && !has_common_counts(kind)) || kind == OpKind::barrier;
}

}  // namespace tutti::adapters::mpi

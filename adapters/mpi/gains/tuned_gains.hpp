#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tutti/config.hpp"
#include "tutti/tuning.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::adapters::mpi {

/// Sizes at which tutti gains, for one number of ranks: a bit for each power of two.
class GainingSizes {
 public:
  [[nodiscard]] bool has(OpKind kind, tutti::TypeClass types, std::uint64_t bytes) const noexcept {
    return (bits_[index(kind)][static_cast<std::size_t>(types)] >> class_of(bytes) & 1U) != 0;
  }

 private:
  friend class TunedGains;
  static constexpr std::size_t kTypes = 4;
  static constexpr unsigned kSizes = 48;

  static constexpr std::size_t index(OpKind kind) noexcept { return static_cast<std::size_t>(kind); }
  static constexpr unsigned class_of(std::uint64_t bytes) noexcept {
    return std::min(static_cast<unsigned>(std::bit_width(bytes)), kSizes - 1);
  }

  std::array<std::array<std::uint64_t, kTypes>, kOpKindCount> bits_{};
};

/// Smallest size of each operation that is served without a table.
using LeastSizes = std::array<std::uint64_t, kOpKindCount>;

/// A tuning table that has measured both the backend of the served calls and the program's MPI library.
class TunedGains {
 public:
  /// The tuning file of this process for an MPI library, by the text of MPI_Get_library_version. Nothing without a
  /// file, and for one that has not measured both.
  [[nodiscard]] static std::optional<TunedGains> load(const Config& config, std::string_view library_version);

  /// For a number of ranks. Where the table has no row with both, `least` counts.
  [[nodiscard]] GainingSizes sizes(int ranks, const LeastSizes& least) const noexcept;
  /// Whether the table has a row with both for this operation.
  [[nodiscard]] bool has(OpKind kind) const noexcept;
  /// "native against mpi:openmpi in /home/user/.config/tutti/tuning".
  [[nodiscard]] std::string describe() const;
  /// Equal for equal tables and backends.
  [[nodiscard]] std::uint64_t key() const { return key_; }

 private:
  TunedGains(TuningTable table, std::string path, std::string ours, std::string theirs);
  [[nodiscard]] std::optional<bool> gains(OpKind kind, tutti::TypeClass types, int ranks,
                                          std::uint64_t bytes) const noexcept;

  TuningTable table_;
  std::string path_;
  std::string ours_;
  std::string theirs_;
  std::uint64_t key_;
};

/// FNV-1a, continued with a text.
[[nodiscard]] std::uint64_t mixed(std::uint64_t key, std::string_view text) noexcept;
inline constexpr std::uint64_t kEmptyKey = 14695981039346656037U;

}  // namespace tutti::adapters::mpi

#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace tutti::horovod {

/// The parameters of the engine that autotune changes. All ranks must have the same values; rank 0 sends them as bytes.
struct TunedValues {
  double fusion_threshold_mb = 128;  ///< in units of 2^20 bytes
  double cycle_time_ms = 1;
  double partition_mb = 0;         ///< larger tensors are cut into parts of that size; 0: none are
  std::int32_t inner_backend = 0;  ///< index in the list of the plan
  bool hierarchical_allreduce = false;
  bool hierarchical_allgather = false;
  bool torus_allreduce = false;
  bool cache_enabled = true;

  [[nodiscard]] std::uint64_t fusion_threshold_bytes() const noexcept {
    return static_cast<std::uint64_t>(fusion_threshold_mb * 0x1p20);
  }
  [[nodiscard]] std::uint64_t partition_bytes() const noexcept {
    return static_cast<std::uint64_t>(partition_mb * 0x1p20);
  }
  [[nodiscard]] std::chrono::nanoseconds cycle_time() const noexcept {
    return std::chrono::nanoseconds(std::llround(cycle_time_ms * 1e6));
  }

  friend bool operator==(const TunedValues&, const TunedValues&) = default;
};
static_assert(std::is_trivially_copyable_v<TunedValues>);

/// The best values of a search, as they are kept for later jobs.
struct TuningResult {
  TunedValues values;
  double score = 0;           ///< in MB/s
  std::string inner_backend;  ///< name; empty: it was not tuned

  friend bool operator==(const TuningResult&, const TuningResult&) = default;
};

/// First line of the text of a result.
inline constexpr std::string_view kTuningHead = "tutti-horovod-tuning 1";

/// The result as text of one "key value" per line, and back. `where` is the beginning of error messages. Throws
/// Error{config} for text of another form, with the line.
[[nodiscard]] std::string to_text(const TuningResult& result);
[[nodiscard]] TuningResult tuning_from_text(std::string_view text, std::string_view where);

/// Replaces a file as a whole: other jobs may read or write it meanwhile. Throws Error{system} that names it.
void replace_file(const std::string& path, const std::string& text);

/// The same in a file, which is replaced as a whole. Throws Error{system} that names it.
void save_tuning(const std::string& path, const TuningResult& result);
[[nodiscard]] TuningResult load_tuning(const std::string& path);

}  // namespace tutti::horovod

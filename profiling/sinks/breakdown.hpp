#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/profile.hpp"
#include "sinks/tally/tally_text.hpp"
#include "sinks/text_options.hpp"

namespace tutti::profiling {

/// Field by which tables are split. `caller` is the label that the program gave to an operation.
enum class SplitBy : std::uint8_t { operation, size, backend, rank, device, caller, region };

/// The field of that name ("op", "size", "backend", "rank", "device", "caller", "region"), or nothing.
[[nodiscard]] std::optional<SplitBy> parse_split(std::string_view text) noexcept;

/// Choices for the tables that iprof does not have.
struct BreakdownOptions {
  std::vector<SplitBy> by = {SplitBy::operation, SplitBy::size};
  bool percentiles = false;  ///< p50, p90 and p99 beside the average
};

/// Calls, host time, device time, traffic, allocated bytes and percentiles per value of the fields.
[[nodiscard]] std::string breakdown_text(const Profile& profile, const BreakdownOptions& options,
                                         const TextOptions& text = {});

/// Memory by owner: bytes, calls, peak, still held at the end; resident peak per rank.
[[nodiscard]] std::string memory_text(const Profile& profile, const TextOptions& text = {});

/// For each communicator: how often each rank came last to an operation, and the time that the others waited for it;
/// the operations that made the ranks wait longest; the overlap of communication and computation per rank.
[[nodiscard]] std::string arrivals_text(const Profile& profile, const TextOptions& text = {});

/// The session's own cost: records, time, memory, dropped records.
[[nodiscard]] std::string cost_text(const Profile& profile, const TextOptions& text = {});

/// iprof's JSON of the tally, with all of these tables under the further key "tutti": `by` splits its operations. One
/// line. docs/profiling.md describes the keys.
[[nodiscard]] std::string session_json(const Profile& profile, const TallyOptions& options,
                                       const std::vector<SplitBy>& by = {SplitBy::operation, SplitBy::size});

/// All rows as CSV, a line each, with a header line.
[[nodiscard]] std::string rows_csv(const Profile& profile);

}  // namespace tutti::profiling

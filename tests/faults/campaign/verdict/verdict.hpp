#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "faults/campaign/job/job.hpp"

namespace tutti::test::campaign {

/// The verdict on a run; of several the first of this list counts.
enum class Verdict : std::uint8_t {
  wrong_result,
  crash,       ///< a signal or std::terminate that the fault did not ask for
  hang,        ///< a rank was alive at the deadline
  leak,        ///< a process, a file or a thread is left
  wrong_code,  ///< an error of another code, an exception that is no Error, or no error
  wrong_rank,  ///< an error that does not name the culprit
  late,        ///< the right error, too late
  skipped,     ///< not possible on this machine
  launcher,    ///< the launcher ended the ranks that were left
  ok,
};

inline constexpr std::size_t kVerdictCount = 10;

[[nodiscard]] std::string_view name(Verdict verdict) noexcept;
[[nodiscard]] std::optional<Verdict> parse_verdict(std::string_view name) noexcept;
/// Whether the verdict is a failure of the library.
[[nodiscard]] constexpr bool is_bad(Verdict verdict) noexcept { return verdict < Verdict::skipped; }

struct Judgement {
  Verdict verdict = Verdict::ok;
  std::string reason;     ///< one sentence; empty for ok
  double noticed_s = -1;  ///< longest time from the fault to another rank's error; negative: none
};

[[nodiscard]] Judgement judge(const RunPlan& plan, const JobResult& result, const StallClock& stalls);

}  // namespace tutti::test::campaign

#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tutti/error.hpp"

namespace tutti::test::campaign {

/// Faults that the campaign injects into one rank of a job, the culprit.
enum class Fault : std::uint8_t {
  none,
  kill,
  kill_setup,
  absent,
  stop,
  exit,
  throws,
  mismatch,
  mismatch_rooted,
  late,
  abort,
  fork,
  store,
  bad_variable,
  settings,
  shm_full,
  memory,
  allocation,
  system_call,
};

/// Whether the culprit of the fault calls something else than the others.
[[nodiscard]] constexpr bool is_mismatch(Fault fault) noexcept {
  return fault == Fault::mismatch || fault == Fault::mismatch_rooted;
}

/// Set of error codes.
class Codes {
 public:
  constexpr Codes(std::initializer_list<ErrorCode> codes) noexcept {
    for (const ErrorCode code : codes) bits_ |= bit(code);
  }
  [[nodiscard]] constexpr bool contains(ErrorCode code) const noexcept { return (bits_ & bit(code)) != 0; }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }

 private:
  static constexpr std::uint32_t bit(ErrorCode code) noexcept { return 1u << static_cast<std::uint32_t>(code); }
  std::uint32_t bits_ = 0;
};

/// The end of a rank that the contract allows.
struct Outcome {
  bool may_complete;           ///< all operations, with right results
  Codes codes;                 ///< errors of an operation
  Codes setup_codes;           ///< errors while the communicators are made
  bool names_culprit;          ///< the message of an error names the culprit
  std::string_view says = {};  ///< text that the message of an error contains
};

/// Whether the campaign runs a fault on a backend without being asked for it.
enum class Status : std::uint8_t {
  runs,   ///< expected to be ok
  open,   ///< fails today; see docs/reliability.md. Runs when it is named, or with --faults all
  never,  ///< has no meaning there
};

/// Row of the table of faults: the contract of docs/reliability.md in one place.
struct FaultRow {
  Fault fault;
  std::string_view name;
  std::string_view description;
  Outcome others;
  Outcome culprit;
  bool culprit_ends;  ///< the culprit may end without a word (killed, exited)
  Status native;
  Status mpi;
  Status ccl;
};

[[nodiscard]] std::span<const FaultRow> fault_rows() noexcept;
[[nodiscard]] const FaultRow& row_of(Fault fault) noexcept;
[[nodiscard]] std::optional<Fault> parse_fault(std::string_view name) noexcept;

/// Status of a fault on a backend, given as a spec such as "mpi:openmpi". Backends of the self-test count as native.
[[nodiscard]] Status status_on(const FaultRow& row, std::string_view backend) noexcept;

}  // namespace tutti::test::campaign

#include "adapter.hpp"

#include <array>
#include <new>
#include <optional>
#include <string>

#include "base/interpose/own_caller.hpp"
#include "gains/plain_size.hpp"
#include "issue/issued_call.hpp"
#include "raise.hpp"
#include "tutti/error.hpp"

namespace tutti::adapters::mpi {

constinit std::atomic<std::uint32_t> attention{0};

namespace {

// With TUTTI_SHOW, of each kCycle calls of an operation one is timed on tutti and one is given to MPI and timed there.
constexpr std::uint64_t kCycle = 16;
constexpr std::uint64_t kTimed = 5;
constexpr std::uint64_t kCompared = 13;

}  // namespace

[[gnu::visibility("hidden")]] extern Rules rules;
[[gnu::visibility("hidden")]] extern bool may_issue;

namespace {

/// A call on its way, with the facts that the report shows.
struct Judged {
  Outcome outcome;
  std::uint64_t bytes = 0;
};

bool is_served_binding(Binding binding) noexcept { return binding != Binding::fortran_2018; }

/// Kinds by row; a load in place of kind_of()'s many cases.
constexpr auto kKinds = [] {
  std::array<std::optional<OpKind>, mpi_table::kFunctionCount> kinds;
  for (std::size_t row = 0; row < kinds.size(); ++row) kinds[row] = kind_of(static_cast<Row>(row));
  return kinds;
}();

/// Whether the sizes that gain include this one. `bytes`: as in Rules::takes().
bool is_taken(Row row, OpKind kind, Group& group, tutti::TypeClass types, std::optional<std::uint64_t> bytes) noexcept {
  return group.is_taken(rules, kind, types, bytes) && (!is_issue(row) || rules.gains_issued(bytes.value_or(0)));
}

/// Whether a reduction is too small whatever its type is: the most frequent calls of many programs are reductions of a
/// few elements.
bool is_tiny_reduction(Row row, OpKind kind, const Arguments& arguments) noexcept {
  if (kind != OpKind::allreduce && kind != OpKind::reduce) return false;
  return rules.is_too_small(kind, arguments.count(mpi_table::function(row).at.count));
}

/// Whether a call is of a size at which tutti gains nothing, where few of its arguments tell.
bool has_no_gain(Row row, OpKind kind, const Arguments& arguments, Group& group) noexcept {
  if (!rules.may_take(kind) || is_tiny_reduction(row, kind, arguments)) return true;
  const std::optional<PlainSize> size = plain_size(row, kind, arguments, group.rank(), group.size());
  return size && !is_taken(row, kind, group, size->types, size->bytes);
}

/// Whether tutti carries out a call, by facts that all ranks have.
Judged judge(Row row, ServedCall& call, Group& group, const void* caller) noexcept {
  switch (call.read()) {
    case ServedCall::Judgement::suitable:
      break;
    case ServedCall::Judgement::wrong_arguments:
      return {Outcome::arguments};
    case ServedCall::Judgement::other_type:
      return {Outcome::type};
  }
  const std::optional<std::uint64_t> common = call.common_bytes();
  const std::uint64_t bytes = common.value_or(0);
  const tutti::TypeClass types = rules.has_table() ? call.types() : tutti::TypeClass::any;
  if (!is_taken(row, *kind_of(row), group, types, common)) return {Outcome::size, bytes};
  if (interpose::is_own_caller(caller)) return {Outcome::own, bytes};
  const bool is_admitted = is_issue(row) ? group.admits_issue(rules) : group.admits(rules);
  if (group.awaits_meeting()) attention.fetch_or(kMeeting, std::memory_order_relaxed);
  if (!is_admitted) return {group.is_open() ? Outcome::first_calls : Outcome::communicator, bytes};
  return {Outcome::served, bytes};
}

/// Carries out a blocking call, or leaves it to MPI to compare the times.
void run(Row row, const ServedCall& call, Group& group, Judged& judged, int& error) noexcept {
  const std::uint64_t turn = rules.shows() ? group.count(*kind_of(row)) % kCycle : kCycle;
  if (turn == kCompared) {
    judged.outcome = Outcome::compared;
    return;
  }
  const auto begin = turn == kTimed ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  try {
    group.issues().drain();
    call.run(group.communicator());
    error = 0;
  } catch (const std::exception& failure) {
    error = raise(group.handle(), failure.what());
  }
  if (turn == kTimed) count_time(row, Outcome::served, judged.bytes, std::chrono::steady_clock::now() - begin);
}

[[gnu::noinline]] Judged judge_and_run(Row row, Binding binding, const Word* words, Group& group, const void* caller,
                                       int& error) noexcept {
  ServedCall call(row, Arguments(binding, words), group);
  Judged judged = judge(row, call, group, caller);
  if (judged.outcome != Outcome::served) return judged;
  if (!is_issue(row)) {
    run(row, call, group, judged, error);
    return judged;
  }
  try {
    issue(row, binding, words, group);
    error = 0;
  } catch (const std::exception& failure) {
    error = raise(group.handle(), failure.what());
  }
  return judged;
}

/// Passes on what can be passed on at once.
Judged consider(Row row, OpKind kind, Binding binding, const Word* words, const void* caller, int& error) noexcept {
  // The arguments of Fortran may be copies that end with the call.
  if (is_issue(row) && (!may_issue || binding == Binding::fortran)) return {Outcome::threads};
  const bool may_meet = !is_issue(row) && (attention.load(std::memory_order_relaxed) & kMeeting) != 0;
  if (!may_meet && !rules.may_take(kind)) return {Outcome::size};
  const Arguments arguments(binding, words);
  Group* const group = group_of(arguments.communicator(mpi_table::function(row).at.comm));
  if (group == nullptr || !group->is_open()) return {Outcome::communicator};
  if (may_meet && group->awaits_meeting() && !interpose::is_own_caller(caller)) group->meet(rules);
  if (has_no_gain(row, kind, arguments, *group)) return {Outcome::size};
  return judge_and_run(row, binding, words, *group, caller, error);
}

}  // namespace

Outcome serve(Row row, Binding binding, const Word* words, const void* caller, int& error) noexcept {
  Judged judged{Outcome::kind};
  const std::optional<OpKind> kind = kKinds[static_cast<std::size_t>(row)];
  if (kind && is_served_binding(binding)) judged = consider(row, *kind, binding, words, caller, error);
  if (is_counting.load(std::memory_order_relaxed)) count_call(row, judged.outcome, judged.bytes);
  return judged.outcome;
}

void compared(Row row, Binding binding, const Word* words, std::chrono::steady_clock::time_point begin) noexcept {
  const auto time = std::chrono::steady_clock::now() - begin;
  const Arguments arguments(binding, words);
  const Group* group = group_of(arguments.communicator(mpi_table::function(row).at.comm));
  if (group == nullptr) return;
  ServedCall call(row, arguments, *group);
  if (call.read() != ServedCall::Judgement::suitable) return;
  count_time(row, Outcome::compared, call.common_bytes().value_or(0), time);
}

}  // namespace tutti::adapters::mpi

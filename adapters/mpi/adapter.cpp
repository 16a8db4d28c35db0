#include "adapter.hpp"

#include <array>
#include <cstdio>
#include <new>
#include <string>

#include "base/interpose/own_caller.hpp"
#include "base/mpi/pmpi.hpp"
#include "tutti/error.hpp"

namespace tutti::adapters::mpi {

constinit std::atomic<std::uint32_t> attention{0};

namespace {

using mpi_table::Pmpi;

constinit Pmpi add_error_class{"PMPI_Add_error_class"};
constinit Pmpi add_error_code{"PMPI_Add_error_code"};
constinit Pmpi add_error_string{"PMPI_Add_error_string"};
RealFunction<int (*)(Word, int)> call_error_handler{"PMPI_Comm_call_errhandler"};

// With TUTTI_SHOW, of each kCycle calls of an operation one is timed on tutti and one is given to MPI and timed there.
constexpr std::uint64_t kCycle = 16;
constexpr std::uint64_t kTimed = 5;
constexpr std::uint64_t kCompared = 13;

/// Gives an error of tutti to the communicator's error handler, as MPI does with its own.
int raise(Word comm, const char* text) noexcept {
  static const int code = [] {
    int error_class = 0;
    int made = 0;
    return add_error_class(&error_class) && add_error_code(error_class, &made) ? made : kNoFunction;
  }();
  // MPI_MAX_ERROR_STRING is at least 256.
  std::array<char, 256> line{};
  std::snprintf(line.data(), line.size(), "tutti: %s", text);
  if (code != kNoFunction) (void)add_error_string(code, line.data());
  const auto handler = call_error_handler.get();
  if (handler != nullptr) (void)handler(comm, code);
  return code;
}

}  // namespace

[[gnu::visibility("hidden")]] extern Rules rules;

namespace {

/// A call on its way, with the facts that the report shows.
struct Judged {
  Outcome outcome;
  std::uint64_t bytes = 0;
};

bool is_served_binding(Binding binding) noexcept { return binding != Binding::fortran_2018; }

Judged judge_and_run(Row row, const Arguments& arguments, const void* caller, int& error) noexcept {
  const OpKind kind = *kind_of(row);
  if (!rules.may_take(kind)) return {Outcome::size};
  const Word handle = arguments.communicator(mpi_table::function(row).at.comm);
  Group* const group = group_of(handle);
  if (group == nullptr || !group->is_open()) return {Outcome::communicator};
  // The most frequent calls of many programs are reductions of a few elements: they pass before their types are read.
  if ((kind == OpKind::allreduce || kind == OpKind::reduce) &&
      rules.is_too_small(kind, arguments.count(mpi_table::function(row).at.count)))
    return {Outcome::size};
  ServedCall call(row, arguments, *group);
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
  if (!group->is_taken(rules, kind, types, common)) return {Outcome::size, bytes};
  if (interpose::is_own_caller(caller)) return {Outcome::own, bytes};
  if (!group->admits(rules)) return {group->is_open() ? Outcome::first_calls : Outcome::communicator, bytes};
  const std::uint64_t turn = rules.shows() ? group->count(kind) % kCycle : kCycle;
  if (turn == kCompared) return {Outcome::compared, bytes};
  const auto begin = turn == kTimed ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  try {
    call.run(group->communicator());
    error = 0;
  } catch (const std::exception& failure) {
    error = raise(handle, failure.what());
  }
  if (turn == kTimed) count_time(row, Outcome::served, bytes, std::chrono::steady_clock::now() - begin);
  return {Outcome::served, bytes};
}

}  // namespace

Outcome serve(Row row, Binding binding, const Word* words, const void* caller, int& error) noexcept {
  Judged judged{Outcome::kind};
  if (kind_of(row) && is_served_binding(binding)) judged = judge_and_run(row, Arguments(binding, words), caller, error);
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

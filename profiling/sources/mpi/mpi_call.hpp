#pragma once

#include <optional>
#include <utility>

#include "base/interpose/real_function.hpp"
#include "base/mpi/mpi_functions.hpp"
#include "common/outermost_call.hpp"
#include "mpi/mpi_library.hpp"
#include "mpi/mpi_message.hpp"
#include "mpi/mpi_record.hpp"
#include "mpi/received_statuses.hpp"
#include "mpi/watched_requests.hpp"
#include "session/recorder.hpp"

namespace tutti::profiling::mpi {

struct MpiSource;

/// A call of the program, from before to after the real function.
class [[gnu::visibility("default")]] ObservedCall {
 public:
  ObservedCall(mpi_table::Row row, Binding binding, Word * words, const void* caller) noexcept;
  /// Not inline: the depth of calls of a thread belongs to the first of the source's libraries.
  ~ObservedCall();
  ObservedCall(const ObservedCall&) = delete;
  ObservedCall& operator=(const ObservedCall&) = delete;
  /// After the function: its return code.
  void end(int error) noexcept;

 private:
  void begin() noexcept;
  void begin_writing() noexcept;
  void note_end() noexcept;
  [[nodiscard]] bool is_idle_poll() const noexcept;
  void record_call(int error, std::uint64_t end_ns) noexcept;
  void end_own_operation(int error, std::uint64_t end_ns) noexcept;
  [[nodiscard]] Record own_operation(int error, std::uint64_t end_ns) const noexcept;
  void tell_sender(std::uint64_t written, std::size_t place) noexcept;
  void end_operations(int error, std::uint64_t end_ns) noexcept;

  mpi_table::Row row_;
  Word* words_;
  Arguments arguments_;
  const mpi_table::Function& function_;
  OutermostCall<MpiSource> outermost_;
  std::optional<ContextScope> scope_;
  Binding binding_;
  bool is_ours_ = false;  ///< not nested, and not a call of tutti itself
  bool is_recorded_ = false;
  bool is_operation_ = false;
  ContextId context_ = 0;
  Message message_;
  Communicator* communicator_ = nullptr;
  Word handle_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t begin_ns_ = 0;
  WrittenCall written_;
  ReceivedStatuses statuses_;
  WatchedRequests requests_;  ///< of a call that completes operations, if any are under way
};

/// True in a process of a session: its communicators are followed also while recording pauses, so that operations have
/// the same numbers on all ranks.
[[gnu::visibility("default")]] extern std::atomic<bool> is_following;

/// Whether operations are under way: calls that may complete them are seen also while recording pauses.
[[gnu::visibility("default")]] bool is_any_pending() noexcept;

/// Whether a call of this function may complete operations.
[[nodiscard]] constexpr bool is_completing(const mpi_table::Function& function) noexcept {
  return function.kind == mpi_table::FunctionKind::completion && function.at.request >= 0;
}

/// Whether the source must see calls of this function also while recording pauses.
[[nodiscard]] constexpr bool is_followed(const mpi_table::Function& function) noexcept {
  return function.kind == mpi_table::FunctionKind::collective || function.at.role != mpi_table::Role::none;
}

/// The return code where no MPI library defines the function; answers MPI_Initialized and MPI_Finalized.
[[gnu::visibility("default")]] int answer_without_mpi(mpi_table::Row row, const Word* words) noexcept;

template <mpi_table::Row row>
[[nodiscard, gnu::always_inline]] inline bool must_observe() noexcept {
  if (is_recording()) [[unlikely]]
    return true;
  if constexpr (is_written(row)) {
    if (is_writing.load(std::memory_order_relaxed)) [[unlikely]]
      return true;
  }
  if constexpr (is_followed(mpi_table::function(row))) return is_following.load(std::memory_order_relaxed);
  if constexpr (is_completing(mpi_table::function(row)))
    return is_following.load(std::memory_order_relaxed) && is_any_pending();
  return false;
}

/// A call of a C function.
template <mpi_table::Row row, Binding binding, typename... Words>
[[gnu::always_inline]] inline int call(RealFunction<int (*)(Words...)>& real, const void* caller,
                                       Words... words) noexcept(false) {
  const auto next = real.get(caller);
  if (next != nullptr && !must_observe<row>()) [[likely]]
    return next(words...);
  Word list[] = {words..., 0};
  if (next == nullptr) return answer_without_mpi(row, list);
  ObservedCall observed(row, binding, list, caller);  // which may change a status that the program ignores
  const int error = [&]<std::size_t... at>(std::index_sequence<at...>) { return next(list[at]...); }
  (std::index_sequence_for<Words...>{});
  observed.end(error);
  return error;
}

/// A call of a Fortran subroutine, whose return code is its argument ierror, which is optional in mpi_f08.
template <mpi_table::Row row, Binding binding, typename... Words>
[[gnu::always_inline]] inline void call_fortran(RealFunction<void (*)(Words...)>& real, const void* caller,
                                                Words... words) noexcept(false) {
  const auto next = real.get(caller);
  if (next != nullptr && !must_observe<row>()) [[likely]]
    return next(words...);
  Word list[] = {words...};
  auto* const ierror = reinterpret_cast<int*>(list[mpi_table::function(row).error_position()]);
  if (next == nullptr) {
    const int error = answer_without_mpi(row, list);
    if (ierror != nullptr) *ierror = error;
    return;
  }
  ObservedCall observed(row, binding, list, caller);
  next(words...);
  observed.end(ierror == nullptr ? 0 : *ierror);
}

}  // namespace tutti::profiling::mpi

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/interpose/real_function.hpp"
#include "base/mpi/mpi_arguments.hpp"
#include "report.hpp"
#include "served_call.hpp"

/// The way of a call through the adapter.
namespace tutti::adapters::mpi {

using interpose::RealFunction;
using mpi_table::Binding;

/// Bit 1 << OpKind: calls of this kind may be served. 0 before MPI has begun and after it has ended.
[[gnu::visibility("default")]] extern std::atomic<std::uint32_t> attention;
/// Bit of `attention`: calls that are passed on are counted.
inline constexpr std::uint32_t kCounting = 1U << 31;
/// Bit of `attention`: blocking calls of any kind are looked at, because the ranks of a communicator with non-blocking
/// calls have yet to meet.
inline constexpr std::uint32_t kMeeting = 1U << 30;
static_assert(kOpKindCount < 30);

/// Bits of `attention` for which a call of this function must be looked at.
[[nodiscard]] constexpr std::uint32_t interest(Row row) noexcept {
  const std::optional<OpKind> kind = kind_of(row);
  if (!kind) return kCounting;
  const bool is_blocking = mpi_table::function(row).at.request < 0;
  return kCounting | (is_blocking ? kMeeting : 0U) | 1U << static_cast<unsigned>(*kind);
}

/// Serves a call, or says why not. `error` is MPI's return code of a served call. `caller`: an address in the calling
/// object.
[[gnu::visibility("default")]] Outcome serve(Row row, Binding binding, const Word* words, const void* caller,
                                             int& error) noexcept;
/// Notes the time of a call that MPI carried out for comparison.
[[gnu::visibility("default")]] void compared(Row row, Binding binding, const Word* words,
                                             std::chrono::steady_clock::time_point begin) noexcept;

/// After a function that begins MPI has succeeded; before one that ends it.
void begin() noexcept;
void end() noexcept;

/// Return code of a function that the process's MPI library lacks; MPI_ERR_OTHER is 15 or 16.
inline constexpr int kNoFunction = 15;

/// A C function.
template <Row row, Binding binding, typename... Words>
[[gnu::always_inline]] inline int call(RealFunction<int (*)(Words...)>& real, const void* caller,
                                       Words... words) noexcept(false) {
  const auto next = real.get(caller);
  if (next == nullptr) [[unlikely]]
    return kNoFunction;
  // Relaxed: a call that races with the beginning or the end of MPI is wrong.
  if ((attention.load(std::memory_order_relaxed) & interest(row)) == 0) [[likely]]
    return next(words...);
  const Word list[] = {words..., 0};
  int error = 0;
  const Outcome outcome = serve(row, binding, list, caller, error);
  if (outcome == Outcome::served) return error;
  if (outcome != Outcome::compared) [[likely]]
    return next(words...);
  const auto begin = std::chrono::steady_clock::now();
  error = next(words...);
  compared(row, binding, list, begin);
  return error;
}

/// A subroutine of Fortran; its argument ierror is optional in mpi_f08.
template <Row row, Binding binding, typename... Words>
[[gnu::always_inline]] inline void call_fortran(RealFunction<void (*)(Words...)>& real, const void* caller,
                                                Words... words) noexcept(false) {
  const auto next = real.get(caller);
  if (next == nullptr) [[unlikely]]
    return;
  // The bindings of MPICH and Intel MPI call the C functions.
  if ((attention.load(std::memory_order_relaxed) & interest(row)) == 0 || !mpi_table::abi().wide_handles) [[likely]]
    return next(words...);
  const Word list[] = {words...};
  int error = 0;
  const Outcome outcome = serve(row, binding, list, caller, error);
  if (outcome == Outcome::served) {
    auto* const ierror = reinterpret_cast<int*>(list[mpi_table::function(row).error_position()]);
    if (ierror != nullptr) *ierror = error;
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  next(words...);
  if (outcome == Outcome::compared) compared(row, binding, list, begin);
}

}  // namespace tutti::adapters::mpi

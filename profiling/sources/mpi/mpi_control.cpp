#include "mpi/mpi_call.hpp"

// MPI_Pcontrol, by which programs switch profilers, and the functions that do not return an int.
namespace tutti::profiling::mpi {

namespace {

// Level 0 pauses, 1 goes on, a higher one writes out, as other MPI profilers have it. Without a session it does
// nothing.
void control(int level) noexcept {
  if (!is_following.load(std::memory_order_relaxed)) return;
  if (level == 0)
    stop();
  else if (level == 1)
    (void)start();
  else
    flush();
}

// MPI_Wtime and MPI_Wtick are polled: recorded in the mode `full` only.
double timed(RealFunction<double (*)()>& real, const void* caller, std::string_view name) noexcept {
  const auto next = real.get(caller);
  if (next == nullptr) return 0;
  if (!is_recording() || tracing_mode() != TracingMode::full || OutermostCall<MpiSource>::is_inside() ||
      !source_wanted("mpi"))
    return next();
  Record event;
  event.begin_ns = now_ns();
  const double value = next();
  event.end_ns = now_ns();
  event.source = add_source("BACKEND_MPI", 3);
  event.name = intern(name);
  event.context = current_context();
  record(event);
  return value;
}

}  // namespace

#define TUTTI_MPI_EXPORT extern "C" [[gnu::visibility("default")]]

// The words stand for the variable arguments of the call, as far as registers hold them.
TUTTI_MPI_EXPORT int MPI_Pcontrol(int level, Word a1, Word a2, Word a3, Word a4, Word a5) {
  static constinit RealFunction<int (*)(int, ...)> real{"MPI_Pcontrol"};
  control(level);
  const auto next = real.get(__builtin_return_address(0));
  return next == nullptr ? 0 : next(level, a1, a2, a3, a4, a5);
}

TUTTI_MPI_EXPORT void mpi_pcontrol_(const int* level) {
  static constinit RealFunction<void (*)(const int*)> real{"mpi_pcontrol_"};
  control(*level);
  if (const auto next = real.get(__builtin_return_address(0)); next != nullptr) next(level);
}

TUTTI_MPI_EXPORT void mpi_pcontrol_f08_(const int* level) {
  static constinit RealFunction<void (*)(const int*)> real{"mpi_pcontrol_f08_"};
  control(*level);
  if (const auto next = real.get(__builtin_return_address(0)); next != nullptr) next(level);
}

#define TUTTI_MPI_CLOCK(symbol, name)                          \
  TUTTI_MPI_EXPORT double symbol() {                           \
    static constinit RealFunction<double (*)()> real{#symbol}; \
    return timed(real, __builtin_return_address(0), name);     \
  }
TUTTI_MPI_CLOCK(MPI_Wtime, "MPI_Wtime")
TUTTI_MPI_CLOCK(MPI_Wtick, "MPI_Wtick")
TUTTI_MPI_CLOCK(mpi_wtime_, "MPI_Wtime")
TUTTI_MPI_CLOCK(mpi_wtick_, "MPI_Wtick")

}  // namespace tutti::profiling::mpi

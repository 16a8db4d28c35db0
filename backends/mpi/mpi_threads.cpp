#include "mpi_threads.hpp"

#include <string>

#include "mpi_api.hpp"
#include "tutti/error.hpp"

namespace tutti::mpi {

std::string level_name(int level) {
  if (level == MPI_THREAD_SINGLE) return "MPI_THREAD_SINGLE";
  if (level == MPI_THREAD_FUNNELED) return "MPI_THREAD_FUNNELED";
  return level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED" : "MPI_THREAD_MULTIPLE";
}

void ThreadGate::set_level(int level) noexcept {
  level_ = level;
  admits_all_ = level >= MPI_THREAD_MULTIPLE;
  main_ = std::this_thread::get_id();
}

bool ThreadGate::serves(std::thread::id thread) const noexcept {
  return level_ >= MPI_THREAD_SERIALIZED || thread == main_;
}

void refuse_other_threads(int level) {
  throw Error(ErrorCode::invalid_usage,
              "MPI was started with thread level " + level_name(level) +
                  ", which allows calls only from the thread that started it, but this call is from another thread "
                  "(the application's, or tutti's own for device operations and TUTTI_PROGRESS_THREAD): start MPI with "
                  "MPI_Init_thread and MPI_THREAD_SERIALIZED or more, or let tutti start it with "
                  "TUTTI_MPI_THREAD_LEVEL=serialized or multiple",
              "mpi");
}

void ThreadGate::refuse() const {
  if (!serves(std::this_thread::get_id())) refuse_other_threads(level_);
  throw Error(
      ErrorCode::invalid_usage,
      "MPI was started with thread level " + level_name(level_) +
          ", which allows one thread at a time, but two threads called it through tutti at once; such calls "
          "need MPI_THREAD_MULTIPLE: request it from MPI_Init_thread, or set TUTTI_MPI_THREAD_LEVEL=multiple if "
          "tutti starts MPI",
      "mpi");
}

void Entry::take(ThreadGate& gate) noexcept {
  const std::thread::id self = std::this_thread::get_id();
  if (!gate.serves(self)) {
    is_inside_ = false;
    return;
  }
  // Relaxed: only this thread stores its own id, so no other thread can change the result of the comparison.
  if (gate.inside_.load(std::memory_order_relaxed) == self) return;
  std::thread::id nobody;
  is_inside_ = gate.inside_.compare_exchange_strong(nobody, self, std::memory_order_acquire, std::memory_order_relaxed);
  if (is_inside_) taken_ = &gate;
}

}  // namespace tutti::mpi

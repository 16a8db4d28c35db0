#include "mpi_threads.hpp"

#include <string>

#include "mpi_api.hpp"
#include "tutti/error.hpp"

namespace tutti::mpi {
namespace {

const char* name_of_level(int level) noexcept {
  if (level == MPI_THREAD_SINGLE) return "MPI_THREAD_SINGLE";
  if (level == MPI_THREAD_FUNNELED) return "MPI_THREAD_FUNNELED";
  return "MPI_THREAD_SERIALIZED";
}

}  // namespace

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
              std::string("MPI was started with thread level ") + name_of_level(level) +
                  ", so only the thread that started it may call it, and this is another (the application's, or the "
                  "one that carries out operations on devices and those of TUTTI_PROGRESS_THREAD): start MPI with "
                  "MPI_Init_thread and MPI_THREAD_SERIALIZED or more, or let tutti start it",
              "mpi");
}

void ThreadGate::refuse() const {
  if (!serves(std::this_thread::get_id())) refuse_other_threads(level_);
  throw Error(ErrorCode::invalid_usage,
              std::string("MPI was started with thread level ") + name_of_level(level_) +
                  ": tutti's calls into it from two threads at once need MPI_THREAD_MULTIPLE (MPI_Init_thread, or "
                  "TUTTI_MPI_THREAD_LEVEL=multiple when tutti starts MPI)",
              "mpi");
}

void Entry::take(ThreadGate& gate) noexcept {
  const std::thread::id self = std::this_thread::get_id();
  if (!gate.serves(self)) {
    is_inside_ = false;
    return;
  }
  // Only this thread writes its own id, so this cannot become true or false meanwhile.
  if (gate.inside_.load(std::memory_order_relaxed) == self) return;
  std::thread::id nobody;
  is_inside_ = gate.inside_.compare_exchange_strong(nobody, self, std::memory_order_acquire, std::memory_order_relaxed);
  if (is_inside_) taken_ = &gate;
}

}  // namespace tutti::mpi

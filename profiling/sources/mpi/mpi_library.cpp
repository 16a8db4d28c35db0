#include "mpi/mpi_library.hpp"

#include <atomic>
#include <cstring>

namespace tutti::profiling::mpi {

namespace {

constinit std::atomic<bool> world_is_open{false};
constinit std::atomic<bool> world_has_ended{false};
constinit std::atomic<int> sessions{0};
constinit std::atomic<Word> last_session{0};

}  // namespace

const char* backend_name() noexcept {
  static const char* const name = [] {
    char text[8192] = {};  // MPI_MAX_LIBRARY_VERSION_STRING of the MPIs known is at most this
    int length = 0;
    if (!pmpi::get_library_version(text, &length)) return "mpi";
    if (std::strstr(text, "Open MPI") != nullptr) return "mpi:openmpi";
    if (std::strstr(text, "Intel") != nullptr) return "mpi:intel";
    return std::strstr(text, "MPICH") != nullptr ? "mpi:mpich" : "mpi";
  }();
  return name;
}

// Relaxed throughout: MPI itself orders its beginning and end with the calls between them.
bool is_usable() noexcept {
  if (sessions.load(std::memory_order_relaxed) > 0) return true;
  if (world_has_ended.load(std::memory_order_relaxed)) return false;
  if (world_is_open.load(std::memory_order_relaxed)) [[likely]]
    return true;
  // MPI may have been begun behind the source's back, by a tool that calls PMPI_Init.
  int begun = 0;
  int ended = 0;
  const bool usable = pmpi::initialized(&begun) && begun != 0 && pmpi::finalized(&ended) && ended == 0;
  if (usable) world_is_open.store(true, std::memory_order_relaxed);
  return usable;
}

void began() noexcept { world_is_open.store(true, std::memory_order_relaxed); }
void ends() noexcept { world_has_ended.store(true, std::memory_order_relaxed); }

void session_began(Word session) noexcept {
  last_session.store(session, std::memory_order_relaxed);
  sessions.fetch_add(1, std::memory_order_relaxed);
}
void session_ends() noexcept {
  last_session.store(0, std::memory_order_relaxed);
  if (sessions.load(std::memory_order_relaxed) > 0) sessions.fetch_sub(1, std::memory_order_relaxed);
}
Word open_session() noexcept { return last_session.load(std::memory_order_relaxed); }

}  // namespace tutti::profiling::mpi

#include "setup/creation_watch.hpp"

#include <atomic>
#include <cstdint>
#include <exception>

#include "tutti/error.hpp"
#include "tutti/spi/thread.hpp"

namespace tutti::mpi {
namespace {

/// Several communicators may be made of one rendezvous, and a key is written once.
std::atomic<std::uint64_t> creations = 0;

std::string place(const Rendezvous& rendezvous) {
  return "creating a communicator on rank " + std::to_string(rendezvous.rank()) + " of " +
         std::to_string(rendezvous.size()) + " (mpi)";
}

}  // namespace

CreationWatch::CreationWatch(const Rendezvous& rendezvous)
    : rendezvous_(rendezvous),
      end_("mpi.created." + std::to_string(rendezvous.rank()) + "." + std::to_string(creations.fetch_add(1))),
      calls_(place(rendezvous)) {
  if (rendezvous.size() > 1) thread_ = spi::start_thread("tutti-mpi", [this] { serve(); });
}

CreationWatch::~CreationWatch() {
  if (!thread_.joinable()) return;
  is_over_.store(true);
  try {
    rendezvous_.put(end_, {}, 1);
  } catch (const std::exception&) {
    // Without the store, the wait of the thread has ended, too.
  }
  thread_.join();
}

void CreationWatch::serve() {
  try {
    (void)rendezvous_.get(end_);
  } catch (const Error& error) {
    if (is_over_.load()) return;
    const Error cause = error.code() != ErrorCode::timeout
                            ? error
                            : Error(ErrorCode::timeout,
                                    "MPI still waits for another rank after TUTTI_RENDEZVOUS_TIMEOUT, although all "
                                    "ranks have come; `tutti ps` shows where they are",
                                    "mpi");
    calls_.end(cause, is_over_);
  } catch (const std::exception&) {
    // Out of memory: the creation goes on without a watch.
  }
}

}  // namespace tutti::mpi

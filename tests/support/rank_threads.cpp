#include "support/rank_threads.hpp"

#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

namespace tutti::test {
namespace {

// Results of the ranks. Each rank writes its own slot only, under the mutex.
struct Board {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t running = 0;
  std::vector<bool> done;
  std::vector<std::optional<std::string>> errors;
};

void play(const Communicator& comm, std::size_t slot, const std::function<void(const Communicator&)>& body,
          Board& board) {
  std::optional<std::string> error;
  try {
    body(comm);
  } catch (const std::exception& failure) {
    error = failure.what();
  } catch (...) {
    error = "an exception of an unknown type";
  }
  // The other ranks may be waiting for this rank.
  if (error) comm.abort();
  const std::lock_guard lock(board.mutex);
  board.errors[slot] = std::move(error);
  board.done[slot] = true;
  --board.running;
  board.changed.notify_all();
}

std::string stuck(const Board& board) {
  std::string ranks;
  for (std::size_t i = 0; i < board.done.size(); ++i) {
    if (!board.done[i]) ranks += (ranks.empty() ? "" : ", ") + std::to_string(i);
  }
  return ranks;
}

}  // namespace

std::vector<RankError> run_ranks(const std::vector<Communicator>& group,
                                 const std::function<void(const Communicator&)>& body,
                                 std::chrono::milliseconds deadline) {
  Board board;
  board.running = group.size();
  board.done.resize(group.size());
  board.errors.resize(group.size());
  std::vector<std::thread> threads;
  threads.reserve(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    threads.emplace_back([&, i] { play(group[i], i, body, board); });
  }
  std::string late;
  {
    std::unique_lock lock(board.mutex);
    const auto finished = [&] { return board.running == 0; };
    if (!board.changed.wait_for(lock, deadline * kDeadlineFactor, finished)) {
      late = stuck(board);
      lock.unlock();
      for (const Communicator& comm : group) comm.abort();
      lock.lock();
      if (!board.changed.wait_for(lock, std::chrono::seconds(10) * kDeadlineFactor, finished)) {
        // The threads still use objects of this stack frame, so this function must not return.
        std::fprintf(stderr, "FATAL: ranks %s of %zu hang and do not react to abort()\n", stuck(board).c_str(),
                     group.size());
        std::fflush(nullptr);
        _exit(3);
      }
    }
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<RankError> errors;
  if (!late.empty())
    errors.push_back({-1, "the deadline passed while ranks " + late + " were busy; they were aborted"});
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (board.errors[i]) errors.push_back({static_cast<int>(i), *board.errors[i]});
  }
  return errors;
}

std::vector<RankError> run_ranks(int size, const std::function<void(const Communicator&)>& body,
                                 const RankOptions& options) {
  return run_ranks(local_group(size, options.communicator), body, options.deadline);
}

std::string describe(const std::vector<RankError>& errors) {
  std::string text;
  for (const RankError& error : errors) {
    text += (error.rank < 0 ? std::string("all ranks") : "rank " + std::to_string(error.rank)) + ": " + error.message +
            "\n";
  }
  return text;
}

}  // namespace tutti::test

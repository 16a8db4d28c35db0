// The other ranks notice the end of a rank's process.
#include "common/peer_watch.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace tutti::common {
namespace {

TEST(PeerWatchTest, SeesAProcessEnd) {
  std::array<int, 2> pipe_ends = {};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(pipe_ends[1]);
    char byte = 0;
    (void)!read(pipe_ends[0], &byte, 1);
    _exit(0);
  }
  close(pipe_ends[0]);
  const std::vector<Rendezvous> ranks = local_rendezvous(2);
  spi::Peers peers;
  peers.size = 2;
  peers.hosts = {"here", "here"};
  peers.pids = {getpid(), child};
  // A thread of this process takes part in the exchange in place of the child.
  std::thread other([&] {
    spi::Peers theirs = peers;
    theirs.rank = 1;
    const PeerWatch watch(ranks[1], theirs);
    EXPECT_FALSE(watch.find_gone().has_value());
  });
  const PeerWatch watch(ranks[0], peers);
  other.join();
  EXPECT_FALSE(watch.find_gone().has_value());
  close(pipe_ends[1]);
  // The watch must notice the end even before waitpid() reaps the child.
  while (!watch.find_gone().has_value()) std::this_thread::yield();
  EXPECT_EQ(watch.find_gone(), 1);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace tutti::common

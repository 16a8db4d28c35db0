// A rank's process that ends is seen by the others.
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
  // The other rank of the exchange is a thread here; it stands for the child.
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
  // Seen as soon as it has ended, also before anybody asks how.
  while (!watch.find_gone().has_value()) std::this_thread::yield();
  EXPECT_EQ(watch.find_gone(), 1);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace tutti::common

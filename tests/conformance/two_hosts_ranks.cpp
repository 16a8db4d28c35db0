// Ranks of two_hosts_test: allreduce and barrier on a backend of two levels.
#include <cstdio>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "support/observers/recording_observer.hpp"
#include "support/system/watchdog.hpp"
#include "tutti/tutti.hpp"

namespace {

using namespace tutti;

/// Elements that differ from the sum over all ranks.
int wrong_sums(const Communicator& comm, std::uint64_t count) {
  std::vector<std::int64_t> data(count);
  std::iota(data.begin(), data.end(), comm.rank() * 1000);
  comm.allreduce(data);
  int wrong = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto expected = static_cast<std::int64_t>(i) * comm.size() + 500L * comm.size() * (comm.size() - 1);
    wrong += data[i] == expected ? 0 : 1;
  }
  return wrong;
}

int check(const Communicator& comm) {
  int wrong = 0;
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{300'007}}) {
    wrong += wrong_sums(comm, count);
    comm.barrier();
  }
  return wrong;
}

}  // namespace

int main() try {
  tutti::test::arm_watchdog(60);
  const tutti::test::RecordingObserver recorder;
  const Communicator comm = world();
  int wrong = check(comm);
  wrong += check(comm.duplicate());
  const std::vector<std::string> hosts = recorder.created().front().hosts;
  std::printf("two hosts: rank %d of %d on %s, %zu hosts, %d wrong\n", comm.rank(), comm.size(),
              std::string(comm.backend()).c_str(), std::set<std::string>(hosts.begin(), hosts.end()).size(), wrong);
  return wrong == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "two hosts: %s\n", error.what());
  return 1;
}

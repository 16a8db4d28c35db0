#include "conformance/cases/group_scenarios.hpp"

#include <exception>
#include <memory>
#include <stdexcept>
#include <thread>

#include "conformance/cases/case.hpp"
#include "conformance/cases/plan.hpp"
#include "support/data/reference.hpp"
#include "tutti/error.hpp"

namespace tutti::test {
namespace {

// Data that rank `from` sends to rank `to`.
Pattern letter(std::uint64_t seed, int from, int to) {
  return {.seed = mix(seed, from, to), .type = DataType::int32, .values = Values::bits};
}

void expect_letter(const Communicator& comm, std::uint64_t seed, int from, const ConstBuffer& got, Report& report) {
  report.count_check();
  if (const auto wrong = compare_copy(letter(seed, from, comm.rank()), 0, 0, got)) {
    report.fail("wrong result: rank " + std::to_string(comm.rank()) + " got " + wrong->got + " instead of " +
                wrong->expected + " at index " + std::to_string(wrong->index) + " of " + std::to_string(got.count) +
                " from rank " + std::to_string(from));
  }
}

}  // namespace

void group_exchange(const Communicator& comm, std::uint64_t seed, Report& report) {
  const auto size = static_cast<std::size_t>(comm.size());
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{1009}, std::uint64_t{70001}}) {
    std::vector<std::vector<std::int32_t>> out(size, std::vector<std::int32_t>(count));
    std::vector<std::vector<std::int32_t>> in(size, std::vector<std::int32_t>(count));
    comm.group([&] {
      for (int peer = 0; peer < comm.size(); ++peer) {
        const auto slot = static_cast<std::size_t>(peer);
        fill(letter(seed, comm.rank(), peer), 0, 0, out[slot]);
        (void)comm.send(out[slot], peer);
        (void)comm.recv(in[slot], peer);
      }
    });
    for (int peer = 0; peer < comm.size(); ++peer) {
      expect_letter(comm, seed, peer, in[static_cast<std::size_t>(peer)], report);
    }
  }
}

void group_mixed(const Communicator& comm, std::uint64_t seed, Report& report) {
  Random random(seed);
  for (int round = 0; round < 10; ++round) {
    std::vector<std::unique_ptr<PreparedCase>> cases;
    for (int i = 0; i < 6; ++i) {
      const Case c = random_case(random, comm.size(), 5000);
      if (c.kind == OpKind::recv) {
        Case send = c;
        send.kind = OpKind::send;
        cases.push_back(std::make_unique<PreparedCase>(comm, send));
      }
      cases.push_back(std::make_unique<PreparedCase>(comm, c));
    }
    comm.group([&] {
      for (const auto& c : cases) (void)c->start(comm, false);
    });
    for (const auto& c : cases) c->check(report);
  }
}

void group_discards(const Communicator& comm, std::uint64_t, Report& report) {
  std::vector<float> data(100, 1.0F);
  bool thrown = false;
  try {
    comm.group([&] {
      (void)comm.allreduce(data);
      throw std::runtime_error("changed my mind");
    });
  } catch (const std::runtime_error& error) {
    thrown = std::string_view(error.what()) == "changed my mind";
  }
  report.count_check();
  report.expect(thrown, "group() did not pass on the exception of its body");
  report.expect(data == std::vector<float>(100, 1.0F), "an operation of a discarded group was carried out");
  comm.allreduce(data);
  report.expect(data == std::vector<float>(100, static_cast<float>(comm.size())),
                "an operation after a discarded group gave a wrong result");
}

void pairs(const Communicator& comm, std::uint64_t seed, Report& report) {
  const int peer = comm.rank() ^ 1;
  if (peer < comm.size()) {
    for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{500}, std::uint64_t{90001}}) {
      std::vector<std::int32_t> data(count);
      // First the even rank sends, then the odd rank.
      for (const bool to_odd : {true, false}) {
        if ((comm.rank() % 2 == 0) == to_odd) {
          fill(letter(seed + count, comm.rank(), peer), 0, 0, data);
          comm.send(data, peer);
        } else {
          comm.recv(data, peer);
          expect_letter(comm, seed + count, peer, data, report);
        }
      }
    }
  }
  comm.barrier();
}

void splits(const Communicator& comm, std::uint64_t seed, Report& report) {
  const int rank = comm.rank();
  const int size = comm.size();
  // Two halves, the even and the odd ranks, each in reverse order.
  const Communicator half = comm.split(rank % 2, -rank, "half");
  const int members = (size + (rank % 2 == 0 ? 1 : 0)) / 2;
  report.count_check();
  report.expect(half.size() == members,
                "split by parity has " + std::to_string(half.size()) + " ranks instead of " + std::to_string(members));
  report.expect(half.rank() == members - 1 - rank / 2, "the key does not order the ranks of a split");
  Random random(seed + static_cast<std::uint64_t>(rank % 2));
  for (int i = 0; i < 20; ++i) run_case(half, random_case(random, half.size(), 5000), report);

  // Rank 0 is in no group, the others are in one; equal keys keep the order.
  const Communicator rest = comm.split(rank == 0 ? -1 : 7);
  report.expect(static_cast<bool>(rest) == (rank != 0), "a negative colour must give an empty communicator");
  if (rest) {
    report.expect(rest.size() == size - 1 && rest.rank() == rank - 1, "equal keys must keep the order of the ranks");
    std::int32_t sum = rank;
    rest.allreduce(Buffer(&sum, 1));
    report.expect(sum == size * (size - 1) / 2, "allreduce on a split gave " + std::to_string(sum));
    const Communicator nested = rest.split(0, 0, "nested");
    Random same(seed);
    for (int i = 0; i < 5; ++i) run_case(nested, random_case(same, nested.size(), 500), report);
  }
  // The parent stays usable.
  run_case(comm, {.count = 33, .seed = seed}, report);
}

void duplicates(const Communicator& comm, std::uint64_t seed, Report& report) {
  const Communicator twin = comm.duplicate("twin");
  report.count_check();
  report.expect(twin.rank() == comm.rank() && twin.size() == comm.size(), "a duplicate has other ranks");
  report.expect(twin.backend() == comm.backend(), "a duplicate has another backend");
  Random random(seed);
  for (int i = 0; i < 20; ++i) run_case(i % 2 == 0 ? comm : twin, random_case(random, comm.size(), 3000), report);
  // Creates and destroys several duplicates.
  for (int i = 0; i < 10; ++i) {
    const Communicator brief = comm.duplicate();
    run_case(brief, random_case(random, comm.size(), 100), report);
  }
}

void two_communicators(const Communicator& comm, std::uint64_t seed, Report& report) {
  const Communicator twin = comm.duplicate("twin");
  const auto work = [&report](const Communicator& group, std::uint64_t own_seed) {
    Random random(own_seed);
    for (int i = 0; i < 60; ++i) run_case(group, random_case(random, group.size(), 5000), report);
  };
  std::exception_ptr failure;
  std::thread other([&] {
    try {
      work(twin, seed + 1);
    } catch (...) {
      failure = std::current_exception();
      // The other ranks may wait for this rank's main thread.
      comm.abort();
    }
  });
  try {
    work(comm, seed + 2);
  } catch (...) {
    twin.abort();
    other.join();
    throw;
  }
  other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tutti::test

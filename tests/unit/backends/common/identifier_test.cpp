// The ranks of a vendor's communicator exchange its identifier, and each learns the error of a rank that fails.
#include "common/identifier.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "tutti/error.hpp"

namespace tutti::common {
namespace {

/// The result of each of three ranks, or "CODE/BACKEND VENDOR_CODE: MESSAGE" (without the space) of its error.
std::vector<std::string> on_ranks(const std::function<std::string(const Rendezvous&)>& body) {
  const std::vector<Rendezvous> ranks = local_rendezvous(3);
  std::vector<std::string> results(ranks.size());
  std::vector<std::thread> threads;
  for (const Rendezvous& rank : ranks) {
    threads.emplace_back([&, &result = results[static_cast<std::size_t>(rank.rank())]] {
      try {
        result = body(rank);
      } catch (const Error& error) {
        result = std::string(name(error.code())) + "/" + error.backend() + std::to_string(error.vendor_code()) + ": " +
                 error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST(ShareIdentifier, IsMadeOnceAndAnewEachTime) {
  int made = 0;
  const auto results = on_ranks([&](const Rendezvous& rank) {
    const auto make = [&] {
      return "id " + std::to_string(rank.rank()) + std::string(1, '\0') + std::to_string(made++);
    };
    const std::string first = share_identifier(rank, "test", make);
    return first + share_identifier(rank, "test", make);
  });
  const std::string expected = std::string(
      "id 0\0"
      "0id 0\0"
      "1",
      12);
  EXPECT_EQ(results, std::vector<std::string>(3, expected));
}

TEST(ShareIdentifier, TellsAllThatItCouldNotBeMade) {
  const auto results = on_ranks([](const Rendezvous& rank) {
    return share_identifier(
        rank, "test", []() -> std::string { throw Error(ErrorCode::backend_failure, "no network here", "some", -7); });
  });
  EXPECT_EQ(results, std::vector<std::string>(3, "backend_failure/some-7: no network here"));
}

TEST(RunTogether, LetsAllGoOn) {
  const auto results = on_ranks([](const Rendezvous& rank) {
    std::string done;
    run_together(rank, "test", [&] { done += "once "; });
    run_together(rank, "test", [&] { done += "twice"; });
    return done;
  });
  EXPECT_EQ(results, std::vector<std::string>(3, "once twice"));
}

TEST(RunTogether, TellsTheOthersWhichRankFailed) {
  const auto results = on_ranks([](const Rendezvous& rank) {
    run_together(rank, "test", [&] {
      if (rank.rank() == 1) throw Error(ErrorCode::config, "no such device", "some", 3);
    });
    return std::string("went on");
  });
  EXPECT_EQ(results[0], "config/some3: on rank 1: no such device");
  EXPECT_EQ(results[1], "config/some3: no such device");
  EXPECT_EQ(results[2], results[0]);
}

TEST(RunTogether, NamesAllRanksThatFailed) {
  const auto results = on_ranks([](const Rendezvous& rank) {
    run_together(rank, "test", [&] {
      if (rank.rank() != 1) throw std::runtime_error("trouble " + std::to_string(rank.rank()));
    });
    return std::string("went on");
  });
  EXPECT_EQ(results, std::vector<std::string>(3, "system/0: on ranks 0, 2: trouble 0"));
}

TEST(RunTogether, EndsTheWaitForAMemberThatFailed) {
  const auto results = on_ranks([](const Rendezvous& rank) {
    for (int round = 0; round < 2; ++round) {
      run_together(rank, "test", [&](const CheckOthers& check_others) {
        if (round == 0) return check_others();
        if (rank.rank() == 1) throw Error(ErrorCode::config, "no such device", "some", 3);
        while (true) check_others();
      });
    }
    return std::string("went on");
  });
  EXPECT_EQ(results[0], "config/some3: on rank 1: no such device");
  EXPECT_EQ(results[1], "config/some3: no such device");
  EXPECT_EQ(results[2], results[0]);
}

TEST(RunTogether, DoesNotWaitForAMemberThatIsGone) {
  const auto results = on_ranks([](const Rendezvous& rank) {
    if (rank.rank() == 2) return std::string("gone");
    run_together(rank, "test", [] { throw Error(ErrorCode::peer_failure, "rank 2 died", "some"); });
    return std::string("went on");
  });
  EXPECT_EQ(results,
            (std::vector<std::string>{"peer_failure/some0: rank 2 died", "peer_failure/some0: rank 2 died", "gone"}));
}

}  // namespace
}  // namespace tutti::common

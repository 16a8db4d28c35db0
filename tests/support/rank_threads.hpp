#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "tutti/communicator.hpp"

namespace tutti::test {

/// How run_ranks() goes about it.
struct RankOptions {
  CommunicatorOptions communicator = {};
  std::chrono::milliseconds deadline = std::chrono::seconds(60);
};

/// What went wrong on a rank.
struct RankError {
  int rank;
  std::string message;
};

/// Runs `body` on `size` ranks that are threads of this process and returns what they threw, in order of rank. A rank
/// that throws aborts its communicator, so that the others end too. Ranks that are still busy at the deadline are
/// aborted and reported; if even that does not end them the process exits with a message that says who was stuck.
[[nodiscard]] std::vector<RankError> run_ranks(int size, const std::function<void(const Communicator&)>& body,
                                               const RankOptions& options = {});

/// As above over communicators made elsewhere.
[[nodiscard]] std::vector<RankError> run_ranks(const std::vector<Communicator>& group,
                                               const std::function<void(const Communicator&)>& body,
                                               std::chrono::milliseconds deadline = std::chrono::seconds(60));

/// One line per error; empty when there is none.
[[nodiscard]] std::string describe(const std::vector<RankError>& errors);

/// Deadlines are longer where a sanitizer slows the program down.
#if defined(__SANITIZE_THREAD__)
inline constexpr int kDeadlineFactor = 5;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr int kDeadlineFactor = 3;
#else
inline constexpr int kDeadlineFactor = 1;
#endif

}  // namespace tutti::test

/// Runs the ranks and fails the current test with all their errors.
#define TUTTI_EXPECT_RANKS(...) EXPECT_EQ("", ::tutti::test::describe(::tutti::test::run_ranks(__VA_ARGS__)))

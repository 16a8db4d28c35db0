#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "tutti/communicator.hpp"

namespace tutti::test {

/// Options of run_ranks().
struct RankOptions {
  CommunicatorOptions communicator = {};
  std::chrono::milliseconds deadline = std::chrono::seconds(60);
};

/// Error of a rank; rank -1 stands for all ranks.
struct RankError {
  int rank;
  std::string message;
};

/// Runs `body` on `size` ranks that are threads of this process and returns their exceptions in order of rank. A rank
/// that throws aborts its communicator, so that the other ranks end too. Ranks that are still busy at the deadline are
/// aborted and reported; if they ignore the abort, the process prints which ranks hang and exits.
[[nodiscard]] std::vector<RankError> run_ranks(int size, const std::function<void(const Communicator&)>& body,
                                               const RankOptions& options = {});

/// As above, over existing communicators.
[[nodiscard]] std::vector<RankError> run_ranks(const std::vector<Communicator>& group,
                                               const std::function<void(const Communicator&)>& body,
                                               std::chrono::milliseconds deadline = std::chrono::seconds(60));

/// One line per error; empty when there is no error.
[[nodiscard]] std::string describe(const std::vector<RankError>& errors);

/// Factor for deadlines, because a sanitizer slows the program down.
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

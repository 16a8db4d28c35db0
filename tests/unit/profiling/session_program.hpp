#pragma once

#include <cstdint>
#include <random>

#include "session/recorder.hpp"

namespace tutti::test {

/// Seed of the records of a thread, so that the program that makes them and the test that expects them agree.
struct RandomRecords {
  explicit RandomRecords(std::uint64_t seed) : random(seed) {}

  /// A record of one of 5 names and 4 contexts, numbered from 0; every 13th or so has failed.
  struct Choice {
    unsigned kind, name, context;
    bool failed;
    std::uint64_t begin, value;
  };
  Choice next() {
    Choice choice{};
    choice.kind = static_cast<unsigned>(random() % profiling::kKindCount);
    choice.name = static_cast<unsigned>(random() % 5);
    choice.context = static_cast<unsigned>(random() % 4);
    choice.failed = random() % 13 == 0;
    choice.begin = random() % 1'000'000'000;
    choice.value = random() >> (20 + random() % 44);
    return choice;
  }
  std::mt19937_64 random;
};

}  // namespace tutti::test

// A program that is recorded: session_program SCENARIO [NUMBER...]. The tests know what each scenario records.
#include "session_program.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace tutti;
using profiling::Kind;
using profiling::Record;

int number(char** arguments, int at) { return arguments[at] == nullptr ? 0 : std::atoi(arguments[at]); }

void record_randomly(std::uint64_t seed, int records) {
  test::RandomRecords random(seed);
  const profiling::SourceId source = profiling::add_source("BACKEND_TEST", 42);
  for (int i = 0; i < records; ++i) {
    const auto choice = random.next();
    const bool duration = choice.kind < 2 || choice.kind == 5;
    profiling::record({.kind = static_cast<Kind>(choice.kind),
                       .source = source,
                       .name = profiling::intern("call " + std::to_string(choice.name)),
                       .context = profiling::add_context({.operation = "allreduce", .bytes = choice.context * 8U}),
                       .error = choice.failed ? -7 : 0,
                       .begin_ns = choice.begin,
                       .end_ns = choice.begin + (duration ? choice.value : 0),
                       .bytes = duration ? 3 : choice.value,
                       .sequence = static_cast<std::uint64_t>(i)});
  }
}

// random SEED THREADS RECORDS: each thread records with a seed of its own.
int random_records(char** arguments) {
  const int seed = number(arguments, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < number(arguments, 1); ++i) {
    threads.emplace_back(record_randomly, static_cast<std::uint64_t>(seed + i), number(arguments, 2));
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

struct Scenario {
  const char* name;
  int (*run)(char** arguments);
};
constexpr Scenario kScenarios[] = {{"random", random_records}};

}  // namespace

int main(int count, char** arguments) {
  for (const Scenario& scenario : kScenarios) {
    if (count > 1 && std::strcmp(arguments[1], scenario.name) == 0) return scenario.run(arguments + 2);
  }
  std::fprintf(stderr, "usage: session_program SCENARIO [NUMBER...]\n");
  return 2;
}

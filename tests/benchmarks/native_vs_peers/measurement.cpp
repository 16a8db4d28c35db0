#include "measurement.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/statistics.hpp"
#include "launch/launch_target.hpp"
#include "machine.hpp"
#include "peers/core_distance.hpp"
#include "text/text.hpp"

namespace tutti::bench {
namespace {

using Clock = std::chrono::steady_clock;
using tools::concat;

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kNarrowTypesAt = 64 * kMebibyte;
constexpr int kMostCalls = 1000;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Bytes of the buffers of all ranks.
double memory_of(const Workload& workload) {
  return static_cast<double>(workload.input_bytes() + workload.output_bytes()) * workload.ranks;
}

// Estimate for the display of the time left: a batch plus, at large sizes, the time of its calls.
double expected_cost(const Plan& plan, const std::vector<Workload>& group) {
  double seconds = 0;
  for (const Workload& workload : group) seconds += plan.rounds * (plan.batch_seconds + memory_of(workload) / 4e9);
  return seconds;
}

// Calls of a turn, however long they take.
constexpr double kFewestCalls = 2;

// From this size on, every turn gets new memory: the physical pages of a buffer matter as much as the library, so one
// choice of pages must not decide a whole cell.
constexpr std::uint64_t kFreshFrom = 8 * kMebibyte;

int first_calls(std::uint64_t bytes) { return bytes < kMebibyte ? 10 : 1; }

int warm_ups(std::uint64_t bytes, int calls) { return bytes < kMebibyte ? std::clamp(calls / 5, 2, 20) : 2; }

std::string describe(const Workload& workload) {
  const std::string size = workload.op == Op::barrier ? "" : " " + tools::format_bytes(workload.bytes);
  const std::string type = workload.type == Type::float32 ? "" : concat(' ', name(workload.type));
  return concat(workload.ranks, " ranks, ", name(workload.op), type, size);
}

}  // namespace

std::vector<std::vector<Workload>> Plan::workloads(int rank_count) const {
  std::vector<std::vector<Workload>> all;
  for (const Op op : ops) {
    if (op == Op::barrier) {
      all.push_back({{.op = op, .ranks = rank_count}});
      continue;
    }
    for (const std::uint64_t bytes : sizes) {
      auto& group = all.emplace_back(std::vector<Workload>{{.op = op, .bytes = bytes, .ranks = rank_count}});
      if (op != Op::allreduce || bytes != kNarrowTypesAt || rank_count != 2 || !narrow_types) continue;
      for (const Type type : {Type::float16, Type::bfloat16}) {
        group.push_back({.op = op, .type = type, .bytes = bytes, .ranks = rank_count});
      }
    }
  }
  return all;
}

Measurement::Measurement(const Plan& plan, Results& results, bool quiet)
    : plan_(plan),
      results_(results),
      progress_(
          "benchmark",
          [&] {
            double total = 0;
            for (const int ranks : plan.ranks) {
              for (const auto& group : plan.workloads(ranks)) total += expected_cost(plan, group);
            }
            return total;
          }(),
          quiet) {}

void Measurement::run() {
  for (const int ranks : plan_.ranks) {
    ranks_ = ranks;
    start_groups(ranks);
    for (const auto& group : plan_.workloads(ranks)) {
      measure(group);
      progress_.advance(expected_cost(plan_, group));
    }
    progress_.show(concat(ranks, " ranks: ending the libraries"));
    groups_.clear();
  }
  results_.complete = true;
}

void Measurement::start_groups(int ranks) {
  groups_.clear();
  groups_.resize(results_.contestants.size());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Contestant& contestant = results_.contestants[i];
    if (!contestant.usable()) continue;
    progress_.show(concat(ranks, " ranks: starting ", contestant.title));
    groups_[i] = std::make_unique<RankGroup>(contestant, ranks, plan_.patience);
    if (!groups_[i]->version().empty()) results_.versions[i] = groups_[i]->version();
  }
}

bool Measurement::takes_part(std::size_t contestant, const Workload& workload) const {
  if (groups_[contestant] == nullptr) return false;
  const Contestant& its = results_.contestants[contestant];
  return its.has(workload.op) && (workload.type == Type::float32 || its.kind == Contestant::Kind::tutti);
}

BatchResult Measurement::run_batch(std::size_t contestant, const Batch& batch, Sample& sample) {
  BatchResult result = groups_[contestant]->run(batch);
  if (!result.problem.empty()) {
    sample.problem = result.problem;
    // Starts the contestant again for the next cell, unless it could not be started at all.
    if (!groups_[contestant]->problem().empty() && !result.problem.starts_with("does not start")) {
      groups_[contestant].reset();
      groups_[contestant] = std::make_unique<RankGroup>(results_.contestants[contestant], ranks_, plan_.patience);
    }
  }
  return result;
}

void Measurement::show(std::size_t contestant, const Workload& workload, const std::string& what) {
  // Turns are short, and the terminal that draws the line takes a core from them.
  constexpr auto kOften = std::chrono::milliseconds(100);
  const auto now = Clock::now();
  if (now - shown_ < kOften) return;
  shown_ = now;
  progress_.show(concat(describe(workload), ", ", what, ": ", results_.contestants[contestant].title));
}

// A few calls show how many fit into a batch.
void Measurement::calibrate(Course& course) {
  Cell& cell = results_.cells[course.cell];
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (!takes_part(i, cell.workload)) continue;
    show(i, cell.workload, "check");
    const Batch batch{.workload = cell.workload,
                      .warm_ups = 1,
                      .calls = first_calls(cell.workload.bytes),
                      .check = true,
                      .release = course.release,
                      .fresh = plan_.fresh_buffers};
    course.cost[i] = run_batch(i, batch, cell.samples[i]).seconds_per_call;
  }
}

void Measurement::run_round(int round, Course& course) {
  Cell& cell = results_.cells[course.cell];
  if (const auto distance = core_distance_ns()) cell.core_distances_ns.push_back(*distance);
  for (std::size_t turn = 0; turn < groups_.size(); ++turn) {
    const std::size_t i = (turn + static_cast<std::size_t>(round)) % groups_.size();
    Sample& sample = cell.samples[i];
    if (!takes_part(i, cell.workload) || !sample.problem.empty()) continue;
    show(i, cell.workload, concat("round ", round + 1, " of ", plan_.rounds));
    const double affordable = plan_.batch_seconds / std::max(course.cost[i], 1e-8);
    const int calls = static_cast<int>(std::clamp(affordable, kFewestCalls, static_cast<double>(kMostCalls)));
    const BatchResult result = run_batch(i,
                                         {.workload = cell.workload,
                                          .warm_ups = warm_ups(cell.workload.bytes, calls),
                                          .calls = calls,
                                          .check = true,
                                          .release = course.release,
                                          .fresh = plan_.fresh_buffers},
                                         sample);
    if (result.times_us.empty()) continue;
    sample.rounds_us.push_back(tools::percentile(result.times_us, 0.5));
    sample.calls = calls;
    course.cost[i] = result.seconds_per_call;
  }
}

// Adds a cell to the results; returns nothing if its buffers do not fit into memory.
std::optional<Measurement::Course> Measurement::enter(const Workload& workload) {
  results_.cells.push_back({.workload = workload, .samples = std::vector<Sample>(groups_.size())});
  const auto available = static_cast<double>(tools::this_machine().available_bytes);
  const double memory = memory_of(workload);
  // Half as much again for the copies of the libraries.
  if (1.5 * memory > 0.9 * available) {
    for (Sample& sample : results_.cells.back().samples) sample.problem = kDoesNotFit;
    return std::nullopt;
  }
  const bool release = workload.bytes >= kFreshFrom || memory * static_cast<double>(groups_.size()) > 0.5 * available;
  return Course{results_.cells.size() - 1, release, std::vector<double>(groups_.size())};
}

void Measurement::measure(const std::vector<Workload>& group) {
  std::vector<Course> courses;
  for (const Workload& workload : group) {
    if (auto course = enter(workload)) courses.push_back(*std::move(course));
  }
  const auto begin = Clock::now();
  for (Course& course : courses) calibrate(course);
  for (int round = 0; round < plan_.rounds; ++round) {
    if (round >= Plan::kLeastRounds && seconds_since(begin) > plan_.cell_seconds) break;
    for (Course& course : courses) run_round(round, course);
  }
  for (const auto& ranks : groups_) {
    if (ranks != nullptr) ranks->release();
  }
}

}  // namespace tutti::bench

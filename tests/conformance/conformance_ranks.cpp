// Runs the conformance suite as one rank of a job, on any backend. The job is started by `tutti run`, by the launcher
// of an MPI library, or with RANK and WORLD_SIZE. Exits with 0 only if no rank had a failure.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/cases/plan.hpp"
#include "conformance/cases/scenarios.hpp"
#include "support/data/pattern.hpp"
#include "support/system/watchdog.hpp"
#include "tutti/tutti.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

constexpr std::string_view kUsage =
    "usage: conformance_ranks [--backend NAME] [--seed N] [--deadline SECONDS]\n"
    "         [--device MODULE] [--memory device|shared|host]\n"
    "         [--hello] [--bits] [--plan full|rotated] [--large] [--scenario NAME|all]...\n"
    "  --device    puts the buffers of the plan into memory of this module's devices and runs the plan on a stream\n"
    "  --hello     only creates the communicator and prints the backend\n"
    "  --bits      prints a hash of the bits of floating-point reductions\n"
    "  --large     adds messages of many chunks to the plan\n"
    "  --scenario  all: every scenario but those that leave operations pending\n"
    "Without --hello, --bits, --plan and --scenario: a rotated plan and all scenarios.\n";

struct Options {
  std::string backend;
  std::uint64_t seed = 1;
  unsigned deadline = 120;
  bool hello = false;
  bool bits = false;
  bool large = false;
  std::string plan;
  std::string device;
  MemoryKind memory = MemoryKind::device;
  std::vector<std::string> scenarios;
};

std::string value_of(int argc, char** argv, int& at) {
  if (at + 1 >= argc) throw std::invalid_argument(std::string(argv[at]) + " needs a value");
  return argv[++at];
}

MemoryKind parse_memory(const std::string& word) {
  for (const MemoryKind kind : {MemoryKind::host, MemoryKind::device, MemoryKind::shared}) {
    if (name(kind) == word) return kind;
  }
  throw std::invalid_argument("--memory takes device, shared or host, not " + word);
}

Options parse(int argc, char** argv) {
  Options options;
  if (const char* seed = std::getenv("TUTTI_TEST_SEED")) options.seed = std::stoull(seed);
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--backend")
      options.backend = value_of(argc, argv, i);
    else if (word == "--seed")
      options.seed = std::stoull(value_of(argc, argv, i));
    else if (word == "--deadline")
      options.deadline = static_cast<unsigned>(std::stoul(value_of(argc, argv, i)));
    else if (word == "--device")
      options.device = value_of(argc, argv, i);
    else if (word == "--memory")
      options.memory = parse_memory(value_of(argc, argv, i));
    else if (word == "--hello")
      options.hello = true;
    else if (word == "--bits")
      options.bits = true;
    else if (word == "--large")
      options.large = true;
    else if (word == "--plan")
      options.plan = value_of(argc, argv, i);
    else if (word == "--scenario")
      options.scenarios.push_back(value_of(argc, argv, i));
    else
      throw std::invalid_argument("unknown option " + std::string(word));
  }
  if (!options.plan.empty() && options.plan != "full" && options.plan != "rotated") {
    throw std::invalid_argument("--plan takes full or rotated, not " + options.plan);
  }
  if (!options.hello && !options.bits && options.plan.empty() && options.scenarios.empty()) {
    options.plan = "rotated";
    options.scenarios = {"all"};
  }
  return options;
}

std::vector<const Scenario*> chosen_scenarios(const Options& options) {
  std::vector<const Scenario*> chosen;
  for (const std::string& name : options.scenarios) {
    if (name == "all") {
      for (const Scenario& scenario : scenarios()) {
        if (!scenario.leaves_operations) chosen.push_back(&scenario);
      }
    } else if (const Scenario* scenario = find_scenario(name)) {
      chosen.push_back(scenario);
    } else {
      throw std::invalid_argument("there is no scenario '" + name + "'");
    }
  }
  return chosen;
}

/// Owns a stream on this rank's device and the placement of buffers there.
struct DevicePlacement {
  std::unique_ptr<spi::DeviceStream> stream;
  test::Placement placement;

  DevicePlacement(const Communicator& comm, const Options& options) {
    if (options.device.empty()) return;
    const std::vector<Device> devices = rank_devices(options.device);
    const Device device = devices[static_cast<std::size_t>(comm.rank()) % devices.size()];
    stream = spi::device_runtime(device).make_stream(device);
    placement = {stream->stream(), options.memory, true};
  }
  [[nodiscard]] const test::Placement* get() const noexcept { return stream != nullptr ? &placement : nullptr; }
};

/// A hash of all bits of several floating-point reductions; the sums of the values depend on the order of summation.
template <typename T>
std::uint64_t bits_of_reductions(const Communicator& comm, std::uint64_t seed) {
  constexpr std::size_t kCount = 10007;
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<T> input(kCount * ranks);
  std::vector<T> output(kCount);
  Random random(seed + static_cast<std::uint64_t>(comm.rank()));
  for (T& value : input) value = static_cast<T>(static_cast<float>(random.below(2000)) / 7.0F - 100.0F);
  std::uint64_t hash = 0;
  const auto add = [&] {
    for (const T& value : output) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, static_cast<const void*>(&value), sizeof(value));
      hash = mix(hash, bits);
    }
  };
  const std::span<const T> block(input.data(), kCount);
  for (const Reduction reduction : {Reduction::sum, Reduction::average, Reduction::product, Reduction::max}) {
    for (const double prescale : {1.0, 0.3}) {
      comm.allreduce(block, output, {.op = reduction, .prescale = prescale});
      add();
    }
  }
  comm.reduce_scatter(input, output);
  comm.allreduce(output);
  add();
  comm.reduce(block, output, 0);
  comm.broadcast(output, 0);
  add();
  return hash;
}

void print_bits(const Communicator& comm, std::uint64_t seed) {
  const std::uint64_t hash =
      mix(bits_of_reductions<float>(comm, seed), bits_of_reductions<double>(comm, seed),
          bits_of_reductions<float16>(comm, seed), bits_of_reductions<bfloat16>(comm, seed),
          bits_of_reductions<float8_e4m3>(comm, seed), bits_of_reductions<float8_e5m2>(comm, seed));
  if (comm.rank() == 0) std::printf("bits: %llx.\n", static_cast<unsigned long long>(hash));
}

// Runs the chosen tests; returns the number of failures on all ranks.
std::uint64_t run(const Communicator& comm, const Options& options, Report& report) {
  const DevicePlacement placement(comm, options);
  if (!options.plan.empty()) {
    const Coverage coverage = options.plan == "full" ? Coverage::full : Coverage::rotated;
    for (const Case& c :
         make_plan({.ranks = comm.size(), .seed = options.seed, .coverage = coverage, .large = options.large})) {
      set_activity(describe(c));
      run_plan(comm, {c}, report, placement.get());
    }
  }
  if (options.bits) print_bits(comm, options.seed);
  for (const Scenario* scenario : chosen_scenarios(options)) {
    set_activity(scenario->name);
    run_scenario(*scenario, comm, options.seed, report);
  }
  set_activity("summing up the failures");
  // Print before any rank can exit: when a rank fails, the launcher ends the others.
  std::fputs(report.text().c_str(), stderr);
  std::uint64_t failures = report.failures();
  comm.allreduce(Buffer(&failures, 1));
  return failures;
}

}  // namespace

int main(int argc, char** argv) {
  Report report;
  Communicator comm;
  try {
    const Options options = parse(argc, argv);
    arm_watchdog(options.deadline);
    set_activity("creating the communicator");
    CommunicatorOptions settings;
    if (!options.backend.empty()) settings.config.set("TUTTI_BACKEND", options.backend);
    comm = world(settings);
    const std::uint64_t failures = run(comm, options, report);
    if (comm.rank() == 0) {
      std::printf("conformance: %d ranks on %s, seed %llu: %llu checks on rank 0, %llu failures\n", comm.size(),
                  std::string(comm.backend()).c_str(), static_cast<unsigned long long>(options.seed),
                  static_cast<unsigned long long>(report.checks()), static_cast<unsigned long long>(failures));
      std::fflush(stdout);
    }
    comm.barrier();
    return failures == 0 ? 0 : 1;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s\n%s", error.what(), std::string(kUsage).c_str());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%srank %d: %s\n", report.text().c_str(), comm ? comm.rank() : -1, error.what());
    std::fflush(nullptr);
    // The other ranks may be waiting for this rank.
    if (comm) comm.abort();
    return 1;
  }
}

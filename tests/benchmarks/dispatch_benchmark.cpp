// Compares an allreduce through tutti with a direct call of MPI or oneCCL: instructions (counted by callgrind,
// repeatable) and time.
//
// --check LIMIT: exits with 1 if tutti adds more than LIMIT instructions to a call; for ctest.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

/// A library and its probe.
struct Flavour {
  std::string name;  ///< "mpi-openmpi", ...
  std::string launcher;
  std::string probe;
};

const std::vector<Flavour>& flavours() {
  static const std::vector<Flavour> all = {
#ifdef TUTTI_PROBE_OPENMPI
      {"mpi-openmpi",
       std::string("mpirun.openmpi --oversubscribe -n 2 --mca mpi_yield_when_idle 1 ") +
           (getuid() == 0 ? "--allow-run-as-root" : ""),
       TUTTI_PROBE_OPENMPI},
#endif
#ifdef TUTTI_PROBE_MPICH
      {"mpi-mpich", "mpirun.mpich -n 2", TUTTI_PROBE_MPICH},
#endif
#ifdef TUTTI_PROBE_CCL
      {"ccl", "", TUTTI_PROBE_CCL},
#endif
  };
  return all;
}

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 512> part{};
  while (pipe != nullptr && std::fgets(part.data(), part.size(), pipe.get()) != nullptr) text += part.data();
  return text;
}

/// Instructions in the probe and in tutti's own objects. Those of the library are left out, because its wait for the
/// peer differs from run to run. Reads callgrind's format: ob= names the object of the cost lines that follow; the line
/// after calls= is the cost of the callee, which is counted in its own object.
double own_instructions(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::map<std::string, bool> own;
  bool counts = false;
  bool skip = false;
  double total = 0;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("ob=")) {
      const std::string id = line.substr(3, line.find(')') - 2);
      if (line.find(' ') != std::string::npos) {
        own[id] = line.find("libtutti") != std::string::npos || line.find("dispatch_probe") != std::string::npos;
      }
      counts = own[id];
    } else if (line.starts_with("cob=") && line.find(' ') != std::string::npos) {
      const std::string id = line.substr(4, line.find(')') - 3);
      own[id] = line.find("libtutti") != std::string::npos || line.find("dispatch_probe") != std::string::npos;
    } else if (line.starts_with("calls=")) {
      skip = true;
    } else if (!line.empty() && (std::isdigit(line[0]) != 0 || line[0] == '+' || line[0] == '-' || line[0] == '*')) {
      if (!skip && counts) total += std::atof(line.substr(line.rfind(' ')).c_str());
      skip = false;
    }
  }
  return total;
}

/// Instructions of one rank inside the loop of the probe.
std::optional<double> instructions(const Flavour& flavour, const std::string& way, long calls) {
  namespace fs = std::filesystem;
  std::string pattern = (fs::temp_directory_path() / "tutti-dispatch-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return std::nullopt;
  const fs::path folder = pattern;
  output_of(flavour.launcher + " valgrind --tool=callgrind --callgrind-out-file=" + (folder / "rank-%p").string() +
            " --collect-atstart=no --toggle-collect=probe_" + way + " " + flavour.probe + " " + way + " " +
            std::to_string(calls) + " 2>/dev/null");
  std::optional<double> total;
  for (const auto& file : fs::directory_iterator(folder)) total = own_instructions(file.path());
  fs::remove_all(folder);
  return total;
}

/// Instructions per call: the difference between a long and a short run, which removes start-up effects.
std::optional<double> instructions_per_call(const Flavour& flavour, const std::string& way) {
  const auto few = instructions(flavour, way, 100);
  const auto many = instructions(flavour, way, 1100);
  if (!few || !many || *many <= *few) return std::nullopt;
  return (*many - *few) / 1000;
}

struct Cost {
  double direct = 0;
  double tutti = 0;
};

std::optional<Cost> cost_of(const Flavour& flavour) {
  const auto direct = instructions_per_call(flavour, "direct");
  const auto through = instructions_per_call(flavour, "tutti");
  if (!direct || !through) return std::nullopt;
  return Cost{*direct, *through};
}

void time_of_call(benchmark::State& state, const Flavour& flavour, const std::string& way,
                  std::optional<double> counted) {
  for (auto iteration : state) {
    const std::string text = output_of(flavour.launcher + " " + flavour.probe + " " + way + " 100000 2>/dev/null");
    if (text.empty()) {
      state.SkipWithError("the probe printed no time");
      return;
    }
    state.SetIterationTime(std::atof(text.c_str()) * 1e-9);
  }
  if (counted) state.counters["instructions"] = *counted;
}

int check(double limit) {
  if (flavours().empty()) {
    std::printf("SKIPPED: the build found neither MPI nor oneCCL\n");
    return 0;
  }
  if (output_of("valgrind --version 2>/dev/null").empty()) {
    std::printf("SKIPPED: valgrind is not installed\n");
    return 0;
  }
  int status = 0;
  for (const Flavour& flavour : flavours()) {
    const auto cost = cost_of(flavour);
    if (!cost) {
      std::printf("%s: callgrind gave no counts for %s\n", flavour.name.c_str(), flavour.probe.c_str());
      status = 1;
      continue;
    }
    const double added = cost->tutti - cost->direct;
    std::printf("%s: dispatch adds %.0f instructions to an allreduce (limit %.0f)\n", flavour.name.c_str(), added,
                limit);
    if (added > limit) status = 1;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--check") return check(std::atof(argv[2]));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  for (const Flavour& flavour : flavours()) {
    for (const std::string way : {"direct", "tutti"}) {
      benchmark::RegisterBenchmark((flavour.name + "/" + way).c_str(), time_of_call, flavour, way,
                                   instructions_per_call(flavour, way))
          ->UseManualTime()
          ->Iterations(1)
          ->Repetitions(5)
          ->ReportAggregatesOnly()
          ->Unit(benchmark::kNanosecond);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  check(100);
}

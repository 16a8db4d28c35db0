// Compares an allreduce through tutti with a direct call of MPI or oneCCL, and one that auto routes with one that it
// does not: instructions (counted by callgrind, repeatable) and time.
//
// --check LIMIT: exits with 1 if tutti adds more than LIMIT instructions to a call, or auto more than 40; for ctest.
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
  std::string name;      ///< "mpi-openmpi", ...
  std::string launcher;  ///< starts the first rank
  std::string peer;      ///< starts the second rank of an MPI; empty where one rank is enough
  std::string probe;
  std::optional<double> limit = {};  ///< of the instructions that may be added; nothing: that of the command line
};

const std::vector<Flavour>& flavours() {
  static const std::vector<Flavour> all = {
#ifdef TUTTI_PROBE_OPENMPI
      {"mpi-openmpi",
       std::string("mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 ") +
           (getuid() == 0 ? "--allow-run-as-root" : "") + " -n 1",
       ": -n 1", TUTTI_PROBE_OPENMPI},
#endif
#ifdef TUTTI_PROBE_MPICH
      {"mpi-mpich", "mpirun.mpich -n 1", ": -n 1", TUTTI_PROBE_MPICH},
#endif
#ifdef TUTTI_PROBE_CCL
      {"ccl", "", "", TUTTI_PROBE_CCL},
#endif
      {"auto", "", "", TUTTI_PROBE_AUTO, 40},
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

/// Output of the probe, whose first rank runs under WRAPPER.
std::string run_probe(const Flavour& flavour, const std::string& wrapper, const std::string& way, long calls) {
  const std::string probe = " " + flavour.probe + " " + way + " " + std::to_string(calls);
  std::string command = flavour.launcher + " " + wrapper + probe;
  if (!flavour.peer.empty()) command += " " + flavour.peer + probe;
  return output_of(command + " 2>/dev/null");
}

/// One dump of callgrind: the loop that it follows ("direct_calls", ...) and its own instructions.
struct Dump {
  std::string loop;
  double instructions = 0;
};

/// Reads a dump and counts the instructions in the probe and in tutti's own objects. Those of the library are left out,
/// because its wait for the peer differs from run to run. In callgrind's format, ob= names the object of the cost lines
/// that follow; the line after calls= is the cost of the callee, which is counted in its own object.
Dump read_dump(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::map<std::string, bool> own;
  bool counts = false;
  bool skip = false;
  Dump dump;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("desc: Trigger: --dump-after=")) {
      dump.loop = line.substr(line.find('=') + 1);
    } else if (line.starts_with("ob=")) {
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
      if (!skip && counts) dump.instructions += std::atof(line.substr(line.rfind(' ')).c_str());
      skip = false;
    }
  }
  return dump;
}

/// Instructions per call.
struct Cost {
  double direct = 0;
  double tutti = 0;
};

/// The last two loops of a way differ by CALLS calls; their difference removes start-up effects. Empty if one is
/// missing.
std::optional<double> instructions_per_call(const std::map<long, Dump>& dumps, const std::string& loop, long calls) {
  std::vector<double> counts;  // in the order of the run; loops that warm up come first
  for (const auto& [number, dump] : dumps) {
    if (dump.loop == loop) counts.push_back(dump.instructions);
  }
  if (counts.size() < 2) return std::nullopt;
  const double few = counts[counts.size() - 2];
  const double many = counts.back();
  if (many <= few) return std::nullopt;
  return (many - few) / static_cast<double>(calls);
}

/// Runs the probe under callgrind, once for both ways, because most of the time is spent in the start of the library.
/// callgrind writes a dump after each loop: FILE.1, FILE.2, ... Its options must name functions that begin with
/// different letters: of two names with a common prefix, callgrind 3.19 obeys only the last option of the second.
std::optional<Cost> cost_of(const Flavour& flavour) {
  namespace fs = std::filesystem;
  constexpr long kCalls = 250;
  std::string pattern = (fs::temp_directory_path() / "tutti-dispatch-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return std::nullopt;
  const fs::path folder = pattern;
  std::string valgrind =
      "valgrind --tool=callgrind --callgrind-out-file=" + (folder / "rank").string() + " --collect-atstart=no";
  for (const std::string loop : {"direct_calls", "tutti_calls"}) {
    valgrind += " --toggle-collect=" + loop + " --dump-after=" + loop;
  }
  run_probe(flavour, valgrind, "both", kCalls);
  std::map<long, Dump> dumps;
  for (const auto& file : fs::directory_iterator(folder)) {
    const std::string number = file.path().extension().string();
    if (!number.empty()) dumps[std::atol(number.c_str() + 1)] = read_dump(file.path());
  }
  fs::remove_all(folder);
  const auto direct = instructions_per_call(dumps, "direct_calls", kCalls);
  const auto through = instructions_per_call(dumps, "tutti_calls", kCalls);
  if (!direct || !through) return std::nullopt;
  return Cost{*direct, *through};
}

void time_of_call(benchmark::State& state, const Flavour& flavour, const std::string& way,
                  std::optional<double> counted) {
  for (auto iteration : state) {
    const std::string text = run_probe(flavour, "", way, 100000);
    if (text.empty()) {
      state.SkipWithError("the probe printed no time");
      return;
    }
    state.SetIterationTime(std::atof(text.c_str()) * 1e-9);
  }
  if (counted) state.counters["instructions"] = *counted;
}

int check(double limit) {
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
    const double accepted = flavour.limit.value_or(limit);
    std::printf("%s: dispatch adds %.0f instructions to an allreduce (limit %.0f)\n", flavour.name.c_str(), added,
                accepted);
    if (added > accepted) status = 1;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--check") return check(std::atof(argv[2]));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  for (const Flavour& flavour : flavours()) {
    const std::optional<Cost> cost = cost_of(flavour);
    for (const std::string way : {"direct", "tutti"}) {
      std::optional<double> counted;
      if (cost) counted = way == "direct" ? cost->direct : cost->tutti;
      benchmark::RegisterBenchmark((flavour.name + "/" + way).c_str(), time_of_call, flavour, way, counted)
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

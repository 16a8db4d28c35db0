// Runs small jobs, injects a fault into each and judges the end of its ranks: see docs/reliability.md.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <set>

#include "faults/campaign/job/workers.hpp"
#include "faults/campaign/ranks/rank.hpp"
#include "faults/campaign/self_test.hpp"
#include "faults/campaign/verdict/journal.hpp"
#include "faults/campaign/verdict/summary.hpp"
#include "support/required_backends.hpp"

namespace tutti::test::campaign {
namespace {

struct Options {
  std::uint64_t runs = 100;
  std::uint64_t seed = 1;
  std::vector<std::string> backends = {"native"};
  std::vector<std::string> faults = {"usual"};
  std::string ranks = "2..4";
  std::string json;
  std::string resume;
  std::optional<std::uint64_t> only;
  int jobs = 1;
  bool keeps_going = false;
  bool lists = false;
  bool tests_itself = false;
  bool is_verbose = false;
};

/// Faults of --faults that have a meaning on the backend.
std::vector<Fault> chosen_faults(const Options& options, const std::string& backend) {
  std::vector<Fault> chosen;
  for (const FaultRow& row : fault_rows()) {
    const Status status = status_on(row, backend);
    const bool is_named = std::ranges::find(options.faults, row.name) != options.faults.end();
    const bool is_usual = options.faults.front() == "usual" && status == Status::runs;
    const bool is_any = options.faults.front() == "all";
    if (status != Status::never && (is_named || is_usual || is_any)) chosen.push_back(row.fault);
  }
  return chosen;
}

std::vector<RunId> make_runs(const Options& options) {
  RunId id{.seed = options.seed};
  if (std::sscanf(options.ranks.c_str(), "%d..%d", &id.fewest_ranks, &id.most_ranks) < 2) {
    id.most_ranks = id.fewest_ranks = std::atoi(options.ranks.c_str());
  }
  if (id.fewest_ranks < 2 || id.most_ranks < id.fewest_ranks || id.most_ranks > 64) {
    throw std::runtime_error("--ranks " + options.ranks + " is not accepted; accepted: 2..4, 3, up to 64");
  }
  std::vector<RunId> runs;
  const std::size_t backends = options.backends.size();
  for (std::uint64_t run = options.only.value_or(0); run < options.only.value_or(options.runs - 1) + 1; ++run) {
    id.run = run;
    id.backend = options.backends[run % backends];
    const std::vector<Fault> faults = chosen_faults(options, id.backend);
    if (faults.empty()) throw std::runtime_error("no fault of --faults has a meaning on " + id.backend);
    id.fault = faults[run / backends % faults.size()];
    runs.push_back(id);
  }
  return runs;
}

void list_faults() {
  const auto word = [](Status status) {
    return status == Status::runs ? "usual" : status == Status::open ? "open" : "-";
  };
  std::printf("%-13s %-7s %-7s %-7s %s\n", "fault", "native", "mpi", "ccl", "description");
  for (const FaultRow& row : fault_rows()) {
    std::printf("%-13s %-7s %-7s %-7s %s\n", std::string(row.name).c_str(), word(row.native), word(row.mpi),
                word(row.ccl), std::string(row.description).c_str());
  }
}

/// Leaves out the backends that cannot be used here. False if one of them is required.
bool drop_absent_backends(std::vector<RunId>& runs, const std::vector<std::string>& backends) {
  const StallClock stalls;
  for (const std::string& backend : backends) {
    const std::string reason = backend == "native" ? "" : objection_to(backend, stalls);
    if (reason.empty()) continue;
    std::string target = backend;
    std::ranges::replace(target, ':', '-');
    std::printf("[  SKIPPED ] %s: %s\n", backend.c_str(), reason.c_str());
    if (is_required(target)) return false;
    std::erase_if(runs, [&](const RunId& run) { return run.backend == backend; });
  }
  return true;
}

/// Reads the runs that were made before and takes them out of the list.
std::vector<Entry> resume(const Options& options, std::vector<RunId>& runs) {
  std::vector<Entry> entries = Journal::read(options.resume);
  std::set<std::uint64_t> done;
  for (const Entry& entry : entries) {
    if (entry.seed != options.seed) {
      throw std::runtime_error(options.resume + " has runs of seed " + std::to_string(entry.seed) + "; give --seed " +
                               std::to_string(entry.seed) + " or another file");
    }
    done.insert(entry.run);
  }
  std::erase_if(runs, [&](const RunId& run) { return done.contains(run.run); });
  return entries;
}

int run_campaign(const Options& options) {
  std::vector<RunId> runs = make_runs(options);
  if (!drop_absent_backends(runs, options.backends)) return 1;
  std::vector<Entry> entries;
  if (!options.resume.empty()) entries = resume(options, runs);
  const std::string& path = options.resume.empty() ? options.json : options.resume;
  std::unique_ptr<Journal> journal;
  if (!path.empty()) journal = std::make_unique<Journal>(path);
  const auto on_line = [&](const std::string& line) {
    if (journal) journal->append(line);
    const std::optional<Entry> entry = parse_journal_line(line);
    if (!entry) return false;
    entries.push_back(*entry);
    const bool bad = is_bad(entry->verdict);
    if (bad || options.is_verbose) std::cout << describe(*entry) << std::endl;
    return !bad || options.keeps_going;
  };
  const bool all_well = runs.empty() || carry_out(runs, options.jobs, on_line);
  std::cout << "\n" << summary_table(entries) << std::flush;
  if (!all_well) std::cout << "the campaign ended before its last run\n";
  return all_well && !has_bad(entries) ? 0 : 1;
}

int run_as_rank(char** arguments) {
  RunId id;
  id.seed = std::stoull(arguments[1]);
  id.run = std::stoull(arguments[2]);
  id.backend = arguments[3];
  id.fault = parse_fault(arguments[4]).value();
  id.fewest_ranks = std::stoi(arguments[5]);
  id.most_ranks = std::stoi(arguments[6]);
  return run_rank(make_run_plan(id), arguments[0]);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Runs small jobs, injects a fault into each and judges the end of its ranks (docs/reliability.md).");
  app.add_option("--runs", options.runs, "Number of runs")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of all random decisions")->capture_default_str();
  app.add_option("--backend", options.backends, "Backends, in turns: native, ccl, mpi:openmpi, mpi:mpich, mpi:intel")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--faults", options.faults,
                 "Faults, in turns; usual: those that the backend withstands today; all: the open ones, too")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--ranks", options.ranks, "Ranks of a job, as a range or a number")->capture_default_str();
  app.add_option("--json", options.json, "Appends a line of JSON per run to this file");
  app.add_option("--resume", options.resume, "Continues the campaign of this file: skips its runs and appends to it");
  app.add_option("--only", options.only, "Makes only the run of this number, with one backend and one fault");
  app.add_option("--jobs", options.jobs, "Jobs at a time")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_flag("--keep-going", options.keeps_going, "Goes on after a bad verdict");
  app.add_flag("--list", options.lists, "Lists the faults and the backends that withstand them");
  app.add_flag("--self-test", options.tests_itself, "Judges backends that fail on purpose: each must get its verdict");
  app.add_flag("--verbose", options.is_verbose, "Prints every run");
  CLI11_PARSE(app, argc, argv);
  for (const std::string& fault : options.faults) {
    if (fault != "usual" && fault != "all" && !parse_fault(fault)) {
      throw std::runtime_error("there is no fault '" + fault + "'; --list shows them");
    }
  }
  if (options.only && (options.backends.size() != 1 || options.faults.size() != 1 || !parse_fault(options.faults[0]))) {
    throw std::runtime_error("--only needs one --backend and one fault in --faults");
  }
  if (options.lists) return list_faults(), 0;
  if (options.tests_itself) return self_test(options.is_verbose);
  return run_campaign(options);
}

}  // namespace
}  // namespace tutti::test::campaign

int main(int argc, char** argv) {
  try {
    if (argc == 9 && std::string_view(argv[1]) == "--as-rank") return tutti::test::campaign::run_as_rank(argv + 2);
    return tutti::test::campaign::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "campaign: " << error.what() << "\n";
    return 2;
  }
}

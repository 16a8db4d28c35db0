// Command lines of tutti, a word a line: options and their values, lists of cells, sizes, ranks and operations.
// Commands are not run.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "command_line.hpp"
#include "diagnose/diagnose_commands.hpp"
#include "fuzz.hpp"
#include "sweep/plan/sweep_options.hpp"
#include "usage_error.hpp"

namespace tutti::fuzz {

namespace {

using namespace tools;
using Add = void (*)(CLI::App&, Invocation&);

constexpr std::array kCommands = {
    std::pair<std::string_view, Add>{"run", &add_run_command},
    std::pair<std::string_view, Add>{"sweep", &add_sweep_command},
    std::pair<std::string_view, Add>{"report", &add_report_command},
    std::pair<std::string_view, Add>{"tune", &add_tune_command},
    std::pair<std::string_view, Add>{"explain", &add_explain_command},
    std::pair<std::string_view, Add>{"record", &add_record_command},
    std::pair<std::string_view, Add>{"replay", &add_replay_command},
    std::pair<std::string_view, Add>{"info", &add_info_command},
    std::pair<std::string_view, Add>{"topo", &add_topo_command},
    std::pair<std::string_view, Add>{"ps", &add_ps_command},
    std::pair<std::string_view, Add>{"doctor", &add_doctor_command},
    std::pair<std::string_view, Add>{"preload", &add_preload_command},
    std::pair<std::string_view, Add>{"prof", &add_prof_command},
    std::pair<std::string_view, Add>{"tally", &add_tally_command},
    std::pair<std::string_view, Add>{"run-rank", &add_run_rank_command},
    std::pair<std::string_view, Add>{"guard", &add_guard_command},
    std::pair<std::string_view, Add>{"replay-rank", &add_replay_rank_command},
    std::pair<std::string_view, Add>{"sweep-rank", &add_sweep_rank_command},
};

constexpr std::array<std::string_view, 16> kSeeds = {
    "run\n-n\n4\n--backend\nmpi:intel\n--timeout\n90s\n--\n./app\n-x",
    "sweep\n--ops\nallreduce,allgather\n--sizes\n1K..1M,3M\n-n\n2,4\n--backend\nnative,ccl\n--json\nout.json\n--"
    "runs\n3",
    "sweep\n--soak\n8h\n--seed\n7\n--quick\n--device\nsycl:0.1\n--dtype\nbfloat16",
    "sweep\n--resume\nold.json\n--in-place\nboth\n--seconds-per-cell\n0.5",
    "report\na.json\nb.json\n--html\nreport.html\n--import\npaper=table.md",
    "tune\n--sizes\n64K..1M\n--ops\nall\n--out\ntuning.json",
    "explain\nallreduce\n64K\n--dtype\nfloat16",
    "record\n-o\nfolder\n--\n./app",
    "replay\nfolder\n--sizes\n1K\n--backend\nnative",
    "info\n--native\n--ranks\n4\n--json",
    "topo\n-n\n3\n--device\nsycl\n--json",
    "ps\n4711\n--stacks\n--watch",
    "doctor\njob\n--for\n10\n--json",
    "preload\n--\n./app",
    "prof\n--mpi\n--timeline\nout.pftrace\n--\n./app",
    "tally\nfolder\n--json",
};
constexpr std::array<std::string_view, 24> kWords = {
    "\n",      "-n",       "--ops",     "--sizes",   "..",   ",",       "--",        "1K",
    "=",       "--json",   "--backend", "--runs",    "-1",   "1e9",     "[1,2]",     "18446744073709551616",
    "sweep\n", "--soak\n", "--seed\n",  "allreduce", "\xff", "--dtype", "--timeout", "--reduction",
};

std::vector<std::string> words_in(std::string_view input) {
  std::vector<std::string> words;
  while (!input.empty()) {
    const std::string_view word = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(word.size() + 1, input.size()));
    // The help would list this machine's backends; a word cannot have a zero byte.
    const bool is_help = word == "--help" || word == "help" || word == "-h" || word == "--version";
    if (!is_help && word.find('\0') == std::string_view::npos) words.emplace_back(word);
  }
  return words;
}

/// Ends the parsing before the command would run.
struct Parsed {};

/// Text of the help that "-xh" still asks for.
class NoOutput {
 public:
  NoOutput() { dup2(null_, STDOUT_FILENO); }
  ~NoOutput() { dup2(out_, STDOUT_FILENO); }
  NoOutput(const NoOutput&) = delete;
  NoOutput& operator=(const NoOutput&) = delete;

 private:
  static inline const int out_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  static inline const int null_ = open("/dev/null", O_WRONLY | O_CLOEXEC);
};

}  // namespace

const Material material = {kSeeds, kWords};

void try_input(std::string_view input) {
  std::vector<std::string> words = words_in(input);
  if (words.empty()) return;
  Invocation invocation;
  const auto tutti = make_command_line();
  const auto known = std::ranges::find(kCommands, words.front(), &std::pair<std::string_view, Add>::first);
  for (const auto& [name, add] : kCommands) {
    if (known == kCommands.end() || name == known->first) add(*tutti, invocation);
  }
  for (CLI::App* command : tutti->get_subcommands({})) command->footer("");
  tutti->parse_complete_callback([] { throw Parsed(); });
  const NoOutput quiet;
  expect_value_or<UsageError>([&] {
    try {
      parse(*tutti, std::move(words), invocation);
    } catch (const Parsed&) {
      const auto called = tutti->get_subcommands();
      if (!called.empty() && called.front()->get_prefix_command()) (void)program_words(*called.front(), invocation);
    }
  });
}

}  // namespace tutti::fuzz

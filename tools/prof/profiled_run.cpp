#include "prof/profiled_run.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <memory>
#include <thread>

#include "launch/process.hpp"
#include "prof/profile_filter.hpp"
#include "prof/profiled_command.hpp"
#include "prof/program_check.hpp"
#include "prof/report_guard.hpp"
#include "prof/session_folder.hpp"
#include "prof/session_output.hpp"
#include "report/session_reader.hpp"
#include "text/output_file.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "tutti/error.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

// Ranks that have not even started when this one ended are not waited for as long as those that run.
constexpr std::chrono::seconds kPatienceForAbsent{10};
// The launcher ends the job when a rank fails, but only after it has been told so: by the end of this process.
constexpr std::chrono::seconds kPatienceAfterFailure{1};
// Launchers kill ranks that do not end a second or two after they were asked to.
constexpr std::chrono::milliseconds kPatienceWhenEnding{300};

constexpr std::size_t kMostNamed = 8;

void say(const std::string& text) { write_all(STDERR_FILENO, concat("tutti: ", text, '\n')); }

std::string list_of(const std::vector<int>& ranks) {
  std::vector<std::string> names;
  for (const int rank : ranks) {
    if (names.size() == kMostNamed)
      return concat("ranks ", join(names, ", "), " and ", ranks.size() - kMostNamed, " more");
    names.push_back(std::to_string(rank));
  }
  return concat(ranks.size() == 1 ? "rank " : "ranks ", join(names, ", "));
}

/// Whether the file system has no room for the file of a process.
bool is_full(const std::filesystem::path& folder) {
  constexpr std::uintmax_t kLeastRoom = 256 << 10;
  std::error_code error;
  const std::filesystem::space_info room = std::filesystem::space(folder, error);
  return !error && room.available < kLeastRoom;
}

/// Ends this process as its command ended: launchers end the other ranks of a job if one is ended by a signal, but not
/// for every exit code. Returns for a signal that does not end a process.
void end_by_signal(int number) {
  // The core dump is that of the command.
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  std::signal(number, SIG_DFL);
  kill(getpid(), number);
}

/// A command and its session.
class ProfiledRun {
 public:
  ProfiledRun(const ProfOptions& options, std::vector<std::string> words)
      : options_(options), words_(std::move(words)), program_(find_program(words_.front())) {}

  int run() {
    check_ = check_program(program_);
    open_session();
    std::optional<ReportGuard> guard;
    if (folder_ && place_.size > 1 && place_.rank == 0) guard.emplace([this] { report_as_guard(); });
    const int status = start_and_wait();
    if (folder_) {
      try {
        finish(status);
      } catch (const std::exception& error) {
        say(concat("the session has no tally: ", error.what()));
        folder_->remove();
      }
    }
    guard.reset();
    command_.reset();
    if (place_.size > 1 && WIFSIGNALED(status)) end_by_signal(WTERMSIG(status));
    return exit_code_of(status);
  }

 private:
  void open_session();
  void set_variables();
  [[nodiscard]] int start_and_wait();
  void finish(int status);
  void wait_for_ranks(int status);
  void report_as_guard();
  void report(std::vector<std::string> remarks = {});
  void write_tally(const std::string& folder, const std::vector<std::string>& remarks);
  void write_intermediate();
  [[nodiscard]] std::vector<std::string> remarks_on(const profiling::Profile& profile) const;

  const ProfOptions& options_;
  std::vector<std::string> words_;
  std::string program_;
  const pid_t pid_ = getpid();  // not that of the guard
  ProgramCheck check_;
  JobPlace place_;
  std::unique_ptr<SessionFolder> folder_;  ///< null: nothing is recorded
  ProcessEnvironment environment_;
  std::unique_ptr<ProfiledCommand> command_;
};

void ProfiledRun::open_session() {
  // A command within a session that exists already belongs to that session.
  if (!environment_.get("TUTTI_PROF_SESSION").empty()) return;
  place_ = own_place();
  ProcessEnvironment with_sources = environment_;
  prepare_sources(options_.sources, program_, with_sources);
  try {
    folder_ = std::make_unique<SessionFolder>(place_, options_.trace_output);
  } catch (const std::exception& error) {
    if (place_.rank == 0) say(concat("nothing is recorded: ", error.what()));
    return;
  }
  // The loader would complain on the standard error of the program.
  if (!check_.accepts_preload) with_sources.set("LD_PRELOAD", environment_.get("LD_PRELOAD"));
  environment_ = with_sources;
  set_variables();
}

void ProfiledRun::set_variables() {
  environment_.set("TUTTI_PROF_SESSION", folder_->session());
  environment_.set("TUTTI_PROF_MODE", options_.mode);
  if (options_.paused) environment_.set("TUTTI_PROF_PAUSED", "1");
  if (options_.device_times) environment_.set("TUTTI_PROF_DEVICE_TIMES", "1");
  if (options_.output.needs_events()) environment_.set("TUTTI_PROF_TIMELINE", "1");
  if (!options_.memory_limit.empty()) environment_.set("TUTTI_PROF_MEMORY", options_.memory_limit);
  if (!options_.traced_ranks.empty()) environment_.set("TUTTI_PROF_RANKS", options_.traced_ranks);
}

int ProfiledRun::start_and_wait() {
  ProfiledCommand::Spec spec{.program = program_,
                             .arguments = words_,
                             .environment = environment_.list(),
                             .is_rank = place_.size > 1,
                             .on_request = [this] { write_intermediate(); },
                             .every = folder_ && place_.rank == 0 ? options_.every : std::nullopt};
  if (check_.needs_shell) {
    spec.program = "/bin/sh";
    spec.arguments.insert(spec.arguments.begin(), "/bin/sh");
    spec.arguments[1] = program_;
  }
  command_ = std::make_unique<ProfiledCommand>(std::move(spec));
  try {
    return command_->run();
  } catch (...) {
    if (folder_) {
      folder_->mark_ended();
      if (folder_->look().complete() && folder_->reports()) folder_->remove();
    }
    throw;
  }
}

void ProfiledRun::finish(int status) {
  folder_->mark_ended();
  if (!folder_->reports()) return;
  wait_for_ranks(status);
  if (!folder_->reports() || !folder_->take_report()) return;
  report();
}

void ProfiledRun::wait_for_ranks(int status) {
  const Clock::time_point begin = Clock::now();
  std::chrono::nanoseconds patience = options_.patience;
  if (status != 0) patience = std::min<std::chrono::nanoseconds>(patience, kPatienceAfterFailure);
  if (command_->was_told_to_end()) patience = kPatienceWhenEnding;
  const std::chrono::nanoseconds for_absent = std::min<std::chrono::nanoseconds>(patience, kPatienceForAbsent);
  command_->wait_until(
      [&] {
        const SessionFolder::Ranks ranks = folder_->look();
        const bool waits_for_absent = !ranks.absent.empty() && Clock::now() - begin < for_absent;
        return (ranks.running.empty() && !waits_for_absent) || !folder_->reports();
      },
      begin + patience);
}

// The other ranks are being killed, too.
void ProfiledRun::report_as_guard() {
  try {
    folder_->mark_ended();
    const Clock::time_point deadline = Clock::now() + kPatienceAfterFailure;
    while (!folder_->look().running.empty() && Clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (folder_->reports() && folder_->take_report())
      report({concat(list_of({place_.rank}), " of ", place_.size,
                     " was killed together with tutti prof; the calls until then are in the tally")});
  } catch (const std::exception& error) {
    say(concat("the session has no tally: ", error.what()));
  }
  folder_->finish_removal_of(pid_);
}

void ProfiledRun::report(std::vector<std::string> remarks) {
  const SessionFolder::Ranks ranks = folder_->look();
  if (!ranks.running.empty())
    remarks.push_back(concat(list_of(ranks.running), " of ", place_.size,
                             " still ran when the tally was made; later calls are not in it"));
  if (!ranks.dead.empty())
    remarks.push_back(concat(list_of(ranks.dead), " of ", place_.size,
                             " died together with tutti prof; the calls until then are in the tally"));
  if (!ranks.absent.empty())
    remarks.push_back(concat(list_of(ranks.absent), " of ", place_.size,
                             " did not come; start tutti prof in all ranks, and with --trace-output on a file system "
                             "that all hosts share"));
  std::string session = folder_->session();
  if (options_.keeps_session() && options_.trace_output.empty()) {
    std::array<char, 32> when{};
    const std::time_t now = std::time(nullptr);
    std::tm day{};
    std::strftime(when.data(), when.size(), "%Y%m%d-%H%M%S", localtime_r(&now, &day));
    session = folder_->keep_at(kept_sessions_folder() / concat(when.data(), '-', getpid()));
  }
  // A second Ctrl-C ends the report, which may be long.
  const bool is_unwanted = command_ && command_->was_interrupted();
  if (options_.output.analysis && !is_unwanted) write_tally(session, remarks);
  folder_->remove();
  if (!options_.keeps_session()) return;
  remember_latest(session);
  say(concat("session kept in ", session));
}

std::vector<std::string> ProfiledRun::remarks_on(const profiling::Profile& profile) const {
  std::vector<std::string> remarks;
  if (!check_.obstacle.empty())
    remarks.push_back(concat("the calls of ", program_, " cannot be recorded: ", check_.obstacle));
  if (!profile.rows.empty() || !profile.memory.empty()) return remarks;
  if (is_full(folder_->session())) {
    remarks.push_back(concat("nothing was recorded: the disk of ", folder_->session().string(),
                             " is full; name a folder on another one with --trace-output or TMPDIR"));
  } else if (options_.paused) {
    remarks.emplace_back("nothing was recorded: the session was never started (--paused)");
  } else if (check_.obstacle.empty()) {
    remarks.emplace_back(
        "nothing was recorded: no process called one of the recorded libraries; processes of other users, on other "
        "hosts, or without LD_PRELOAD and TUTTI_PROF_SESSION cannot be seen");
  }
  return remarks;
}

void ProfiledRun::write_tally(const std::string& folder, const std::vector<std::string>& remarks) {
  profiling::Profile profile;
  try {
    profile = read_chosen(folder, options_.output, options_.sources);
  } catch (const std::exception& error) {
    // An empty session is said below, in words that help.
    if (!std::filesystem::is_empty(folder)) throw;
  }
  write_session(profile, options_.output, STDERR_FILENO);
  write_all(STDERR_FILENO, write_files(profile, options_.output) + warning_lines(profile));
  for (const std::string& remark : remarks_on(profile)) say(remark);
  for (const std::string& remark : remarks) say(remark);
}

void ProfiledRun::write_intermediate() {
  if (!folder_) return;
  try {
    const profiling::Profile profile = read_chosen(folder_->session(), options_.output, options_.sources);
    write_session(profile, options_.output, STDERR_FILENO);
  } catch (const std::exception& error) {
    say(concat("no tally yet: ", error.what()));
  }
}

}  // namespace

int run_profiled(const ProfOptions& options, std::vector<std::string> words) {
  return ProfiledRun(options, std::move(words)).run();
}

profiling::Profile read_chosen(const std::string& folder, const OutputOptions& output,
                               const std::vector<ChosenSource>& sources) {
  profiling::Profile profile = profiling::read_session(folder);
  if (!output.device_profile) drop_device_work(profile);
  for (const ChosenSource& source : sources) {
    const auto row = std::ranges::find(source_table(), source.name, &SourceTraits::name);
    for (profiling::SourceRow& shown : profile.sources) {
      if (source.level >= 0 && shown.title == row->title) shown.level = source.level;
    }
  }
  return profile;
}

void write_analysis(const std::function<std::string(const Terminal&)>& make, const OutputOptions& output,
                    int descriptor) {
  if (!output.analysis_output.empty()) {
    try {
      return write_file_atomically(output.analysis_output, make(Terminal(-1)));
    } catch (const Error& error) {
      say(error.what());
      descriptor = STDERR_FILENO;
    }
  }
  write_all(descriptor, make(Terminal(descriptor)));
}

void write_session(const profiling::Profile& profile, const OutputOptions& output, int descriptor) {
  write_analysis([&](const Terminal& terminal) { return session_text(profile, output, terminal); }, output, descriptor);
}

}  // namespace tutti::tools

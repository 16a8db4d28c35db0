#include "faults/campaign/job/job.hpp"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>

#include "faults/campaign/fault/store_proxy.hpp"
#include "faults/campaign/job/processes.hpp"
#include "faults/campaign/job/start.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test::campaign {
namespace {

using namespace std::chrono_literals;
using std::chrono::duration_cast;
using std::chrono::nanoseconds;

constexpr std::size_t kKeptOutput = 3000;
constexpr std::int64_t kLookInterval = 50'000'000;
constexpr std::uint64_t kUsualShm = 512u << 20;

/// The job that runs now, for discard_current_job().
struct Current {
  std::mutex mutex;
  std::string job;
  std::string folder;
};

Current& current() {
  static Current instance;
  return instance;
}

void set_current(const std::string& job, const std::string& folder) {
  const std::lock_guard lock(current().mutex);
  current().job = job;
  current().folder = folder;
}

/// The form of the damage to the traffic with the store, from the plan's random number.
Damage damage_of(const RunPlan& plan) {
  const std::uint64_t detail = plan.detail;
  return {.kind = variant_name(plan),
          .connection = detail % static_cast<std::uint64_t>(std::max(plan.ranks - 1, 1)),
          .to_server = (detail >> 8) % 2 != 0,
          // Early bytes, those of the handshake, are damaged as often as all others together.
          .at = (detail >> 16) % 2 != 0 ? (detail >> 20) % 64 : (detail >> 20) % 2000,
          .bit = static_cast<unsigned>((detail >> 40) % 8)};
}

std::uint64_t shm_size(const RunPlan& plan) {
  return plan.id.fault == Fault::shm_full ? std::uint64_t{4096} << (plan.detail % 12) : kUsualShm;
}

class Job {
 public:
  Job(const RunPlan& plan, const StallClock& stalls)
      : plan_(plan), stalls_(stalls), sandbox_(shm_size(plan)), inside_(sandbox_.seen_inside(folder_.path().string())) {
    static int number = 0;
    name_ = std::to_string(getpid()) + "-" + std::to_string(number++);
    set_current(name_, folder_.path().string());
  }

  ~Job() {
    kill_job(name_);
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    set_current({}, {});
  }

  JobResult run() {
    if (plan_.id.fault == Fault::shm_full && !sandbox_.is_private()) {
      result_.skipped = "a private /dev/shm needs the right to mount";
      return std::move(result_);
    }
    begin_ns_ = shared_clock_ns();
    if (!start()) return std::move(result_);
    wait();
    result_.seconds = static_cast<double>(shared_clock_ns() - begin_ns_) * 1e-9;
    look_for_processes();
    result_.left_files = sandbox_.files_left();
    read_traces();
    read_output();
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::string report_path(int rank) const { return folder_.file("rank-" + std::to_string(rank)); }
  [[nodiscard]] std::string output_path() const { return folder_.file("output"); }

  bool start() {
    result_.wait_status.assign(static_cast<std::size_t>(plan_.ranks), -1);
    result_.has_launcher = needs_launcher(plan_.id.backend);
    if (!result_.has_launcher) return start_ranks();
    const Command command = launcher_command(plan_, inside_, name_);
    if (command.arguments.empty()) {
      result_.skipped = "there is no launcher for " + plan_.id.backend;
      return false;
    }
    launcher_ = start_process(command, sandbox_, output_path());
    running_.push_back(launcher_);
    return true;
  }

  bool start_ranks() {
    const int port = free_port();
    const bool has_proxy = plan_.id.fault == Fault::store;
    if (has_proxy) proxy_ = std::make_unique<StoreProxy>(damage_of(plan_), port);
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      Command command{rank_command(plan_, inside_), common_environment(plan_, name_)};
      command.environment["RANK"] = std::to_string(rank);
      command.environment["WORLD_SIZE"] = std::to_string(plan_.ranks);
      command.environment["MASTER_ADDR"] = "127.0.0.1";
      command.environment["MASTER_PORT"] = std::to_string(has_proxy && rank != 0 ? proxy_->port() : port);
      if (has_proxy) command.environment["TUTTI_JOB_SECRET"] = "a secret of the campaign " + name_;
      running_.push_back(start_process(command, sandbox_, output_path()));
      ranks_.push_back(running_.back());
    }
    return true;
  }

  void reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      std::erase(running_, pid);
      if (pid == launcher_) result_.launcher_status = status;
      const auto rank = std::ranges::find(ranks_, pid);
      if (rank != ranks_.end()) result_.wait_status[static_cast<std::size_t>(rank - ranks_.begin())] = status;
    }
  }

  void wait() {
    std::int64_t last_look = begin_ns_;
    std::int64_t last_progress = begin_ns_;
    std::uintmax_t written = 0;
    for (reap(); !running_.empty(); reap()) {
      const std::int64_t now = shared_clock_ns();
      if (now - last_look > kLookInterval) {
        last_look = now;
        if (const std::uintmax_t total = report_bytes(); total != written) {
          written = total;
          last_progress = now;
        }
        if (is_over(last_progress, now)) return give_up();
      }
      if (plan_.id.fault == Fault::stop) continue_culprit();
      std::this_thread::sleep_for(2ms);
    }
  }

  /// A slow job on a busy machine still makes progress; one that hangs does not.
  [[nodiscard]] bool is_over(std::int64_t last_progress, std::int64_t now) const {
    const std::int64_t limit = duration_cast<nanoseconds>(plan_.deadline).count();
    return now - last_progress > limit + stalls_.stalled_ns(last_progress, now) ||
           now - begin_ns_ > kMostDeadlines * limit;
  }

  [[nodiscard]] std::uintmax_t report_bytes() const {
    std::uintmax_t total = 0;
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      std::error_code error;
      const std::uintmax_t size = std::filesystem::file_size(report_path(rank), error);
      if (!error) total += size;
    }
    return total;
  }

  /// Lets a culprit that stopped itself go on after a while.
  void continue_culprit() {
    if (is_continued_) return;
    if (stopped_pid_ < 0) {
      const RankTrace trace(report_path(plan_.culprit));
      if (trace.find("fault") == nullptr || state_of(trace.pid()) != 'T') return;
      stopped_pid_ = trace.pid();
      stopped_ns_ = shared_clock_ns();
    }
    const std::int64_t pause = 50'000'000 + static_cast<std::int64_t>(plan_.detail % 700'000'000);
    if (shared_clock_ns() - stopped_ns_ < pause) return;
    kill(stopped_pid_, SIGCONT);
    is_continued_ = true;
  }

  void give_up() {
    result_.timed_out = true;
    // Ranks that stopped themselves cannot answer.
    const std::vector<pid_t> alive = processes_of(name_);
    for (const pid_t pid : alive) {
      result_.evidence.push_back("process " + std::to_string(pid) + ": " + command_line_of(pid).substr(0, 200));
      for (std::string& thread : describe_threads(pid)) result_.evidence.push_back(std::move(thread));
    }
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      const RankTrace trace(report_path(rank));
      const pid_t pid = trace.pid();
      if (std::ranges::find(alive, pid) != alive.end()) syscall(SYS_tgkill, pid, pid, SIGUSR2);
    }
    std::this_thread::sleep_for(300ms);
    kill_job(name_);
  }

  /// Processes of an ended job get a moment to end, too.
  void look_for_processes() {
    if (result_.timed_out) return;
    const std::int64_t begin = shared_clock_ns();
    std::vector<pid_t> left = processes_of(name_);
    while (!left.empty() && shared_clock_ns() - begin < 2'000'000'000 + stalls_.stalled_ns(begin, shared_clock_ns())) {
      std::this_thread::sleep_for(5ms);
      reap();
      left = processes_of(name_);
    }
    for (const pid_t pid : left) result_.left_processes.push_back(command_line_of(pid).substr(0, 200));
  }

  void read_traces() {
    for (int rank = 0; rank < plan_.ranks; ++rank) result_.traces.emplace_back(report_path(rank));
  }

  void read_output() {
    std::ifstream file(output_path(), std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    if (text.size() > kKeptOutput) text.erase(0, text.size() - kKeptOutput);
    // The journal is UTF-8.
    std::ranges::replace_if(
        text, [](char c) { return static_cast<unsigned char>(c) > 126; }, '?');
    result_.output = std::move(text);
  }

  const RunPlan& plan_;
  const StallClock& stalls_;
  TemporaryFolder folder_;
  Sandbox sandbox_;
  std::string inside_;
  std::string name_;
  std::unique_ptr<StoreProxy> proxy_;
  std::vector<pid_t> running_;
  std::vector<pid_t> ranks_;
  pid_t launcher_ = -1;
  pid_t stopped_pid_ = -1;
  std::int64_t stopped_ns_ = 0;
  bool is_continued_ = false;
  std::int64_t begin_ns_ = 0;
  JobResult result_;
};

}  // namespace

JobResult run_job(const RunPlan& plan, const StallClock& stalls) { return Job(plan, stalls).run(); }

std::string objection_to(const std::string& backend, const StallClock& stalls) {
  const RunPlan plan = make_run_plan({.seed = 0, .run = 0, .backend = backend, .fault = Fault::none});
  const JobResult result = run_job(plan, stalls);
  if (!result.skipped.empty()) return result.skipped;
  for (const RankTrace& trace : result.traces) {
    const auto error = trace.error();
    if (error && error->code == "backend_unavailable") return error->message;
    if (trace.lines().empty()) return "its ranks did not start: " + result.output;
  }
  return {};
}

void discard_current_job() {
  const std::lock_guard lock(current().mutex);
  if (!current().job.empty()) kill_job(current().job);
  kill_children();
  std::error_code ignored;
  if (!current().folder.empty()) std::filesystem::remove_all(current().folder, ignored);
}

}  // namespace tutti::test::campaign

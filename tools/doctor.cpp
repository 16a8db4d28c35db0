#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "command_line.hpp"
#include "diagnose/diagnose_commands.hpp"
#include "diagnose/diagnosis.hpp"
#include "diagnose/host_view.hpp"
#include "text/json_text.hpp"
#include "text/report.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kExitProblem = 1;

struct DoctorOptions {
  std::string job;
  bool as_json = false;
  int seconds = 1;
};

struct JobDiagnosis {
  const JobView* job;
  std::vector<Finding> findings;
};

std::string counted(std::size_t number, const char* one) { return concat(number, " ", one, number == 1 ? "" : "s"); }

std::size_t processes_of(const JobView& job) {
  std::set<std::int64_t> pids;
  for (const RankRow& row : job.rows) pids.insert(row.pid);
  return pids.size();
}

/// The first sentence: the worst that was found, or that nothing is wrong.
std::string verdict_of(const HostView& view, const std::vector<JobDiagnosis>& all) {
  if (view.jobs.empty()) return "No process of this user on this host has a communicator.";
  std::size_t problems = 0;
  std::string first;
  std::size_t processes = 0;
  for (const JobDiagnosis& one : all) {
    processes += processes_of(*one.job);
    if (first.empty() && !one.findings.empty()) {
      first = concat(one.job->id.empty() ? "" : "Job " + one.job->id + ": ", one.findings.front().text, ".");
    }
    problems += one.findings.size();
  }
  if (problems == 0) {
    return concat("Nothing is wrong with ", counted(view.jobs.size(), "job"), " of ", processes,
                  processes == 1 ? " process" : " processes", ".");
  }
  return first;
}

std::string text_of(const HostView& view, const std::vector<JobDiagnosis>& all, const Terminal& terminal) {
  Report report(terminal, terminal.columns());
  std::size_t findings = 0;
  for (const JobDiagnosis& one : all) findings += one.findings.size();
  for (const JobDiagnosis& one : all) {
    // A single finding is the verdict itself.
    if (one.findings.empty() || findings == 1) continue;
    report.heading(one.job->id.empty() ? "Ranks that meet" : concat("Job ", one.job->id), one.job->command);
    for (const Finding& finding : one.findings) report.paragraph(concat("- ", finding.text));
  }
  if (!view.notes.empty()) report.heading("Notes");
  for (const std::string& note : view.notes) report.paragraph(note);
  return concat(verdict_of(view, all), "\n", report.text());
}

std::string json_of(const HostView& view, const std::vector<JobDiagnosis>& all) {
  Json jobs = Json::array();
  for (const JobDiagnosis& one : all) {
    Json problems = Json::array();
    for (const Finding& finding : one.findings) {
      problems.push_back({{"kind", name(finding.kind)},
                          {"communicator", finding.communicator},
                          {"rank", finding.rank < 0 ? Json(nullptr) : Json(finding.rank)},
                          {"pid", finding.pid == 0 ? Json(nullptr) : Json(finding.pid)},
                          {"operations_behind", finding.operations_behind},
                          {"text", finding.text}});
    }
    jobs.push_back({{"job", one.job->id}, {"command", one.job->command}, {"problems", std::move(problems)}});
  }
  return to_text(
      {{"version", 1}, {"verdict", verdict_of(view, all)}, {"jobs", std::move(jobs)}, {"notes", view.notes}});
}

int show_diagnosis(const DoctorOptions& options) {
  HostView view = look_at_host(std::chrono::seconds(options.seconds));
  if (!options.job.empty()) keep_job(view, options.job);
  std::vector<JobDiagnosis> all;
  bool is_healthy = true;
  for (const JobView& job : view.jobs) {
    all.push_back({&job, diagnose(job, view.now_ns)});
    is_healthy = is_healthy && all.back().findings.empty();
  }
  write_result(options.as_json ? json_of(view, all) : text_of(view, all, Terminal(STDOUT_FILENO)));
  return is_healthy ? 0 : kExitProblem;
}

}  // namespace

void add_doctor_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_command(
      tutti,
      {.name = "doctor",
       .summary = "Say who waits for whom in a job that does not go on.",
       .usage = "tutti doctor [JOB] [options]",
       .description =
           "Compares how far the ranks of a job have come and names the rank that the others wait for: behind, stopped "
           "by a signal, dead, failed, or in another operation than the others. The first line is the verdict. Looks "
           "at this host only and does not disturb the job. A rank that computes for long before its next operation "
           "counts as behind, too: the command cannot know whether it will come.",
       .footer = "Exit codes:\n"
                 "  0  nothing is wrong\n"
                 "  1  ranks wait for a rank that does not come, or something else is wrong\n"
                 "  2  invalid command line, or no such job\n"
                 "\n"
                 "Examples:\n"
                 "  tutti doctor             all jobs of this user\n"
                 "  tutti doctor 4711        the job of process 4711\n"
                 "  tutti doctor --for 10    ranks that have not moved for 10 seconds\n"});
  const auto options = std::make_shared<DoctorOptions>();
  command.add_option("JOB", options->job,
                     "A job's id, or the pid of one of its ranks or of their launcher. Default: all jobs.");
  command.add_flag("--json", options->as_json, "Write JSON instead of text.");
  add_number(command, "--for", options->seconds, 1, 3600,
             "Watch the ranks for N seconds: those that make progress meanwhile are well. Default: 1.");
  command.callback([&invocation, options] { invocation.exit_code = show_diagnosis(*options); });
}

}  // namespace tutti::tools

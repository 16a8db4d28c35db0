#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "command_line.hpp"
#include "diagnose/diagnose_commands.hpp"
#include "diagnose/host_view.hpp"
#include "diagnose/stacks.hpp"
#include "text/json_text.hpp"
#include "text/report.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

using Json = nlohmann::ordered_json;

// Enough to tell a rank that stands still from one that calls again and again.
constexpr std::chrono::milliseconds kPause{100};
constexpr std::chrono::seconds kInterval{2};

struct PsOptions {
  std::string job;
  bool as_json = false;
  bool watches = false;
  bool with_stacks = false;
};

std::string_view stage_name(CommunicatorStage stage) {
  switch (stage) {
    case CommunicatorStage::creating:
      return "creating";
    case CommunicatorStage::active:
      return "active";
    case CommunicatorStage::failed:
      return "failed";
    case CommunicatorStage::destroyed:
      return "destroyed";
  }
  return "?";
}

/// "idle", "creating", or the call that the rank is in.
std::string operation_text(const RankRow& row) {
  const CommunicatorProgress& its = row.progress;
  if (its.stage == CommunicatorStage::creating) return "waits for the other ranks to come";
  if (its.stage == CommunicatorStage::failed) return concat("failed (", name(its.failure_code), ")");
  if (!its.stall.empty()) return concat("stalled: ", its.stall);
  if (its.is_inside()) return describe_call(its);
  return its.pending == 0 ? "idle" : concat("idle, ", its.pending, " pending");
}

/// How long that lasts. A state that nobody has looked at the clock in lasts at least as long as this command looked.
std::string since_text(const RankRow& row, std::int64_t now_ns) {
  if (row.has_moved) return "moving";
  const std::string age = age_text(row.progress, now_ns);
  return age.empty() ? concat("> ", kPause.count(), " ms") : age;
}

std::string process_text(const RankRow& row) {
  switch (row.process.state) {
    case 'T':
    case 't':
      return "stopped";
    case 'D':
      return "in kernel";
    case 'Z':
      return "zombie";
    default:
      return "";
  }
}

bool is_shown(const RankRow& row) { return row.progress.stage != CommunicatorStage::destroyed; }

/// In front of the name its own ranks, where they differ from those of the job.
std::string communicator_text(const CommunicatorProgress& its) {
  const std::string name = its.name.empty() ? "-" : its.name;
  return its.rank == its.job_rank ? name : concat(name, " (", its.rank, " of ", its.size, ")");
}

void add_job(const JobView& job, std::int64_t now_ns, Report& report) {
  Table table({{"rank", Align::right},
               {"pid", Align::right},
               {"communicator"},
               {"backend"},
               {"done", Align::right},
               {"since", Align::right},
               {"device"},
               {"memory", Align::right},
               {"device memory"},
               {"process"},
               {"operation"}});
  int ranks = 0;
  for (const RankRow& row : job.rows) {
    if (!is_shown(row)) continue;
    const CommunicatorProgress& its = row.progress;
    ranks = std::max(ranks, its.size);
    table.add({std::to_string(its.job_rank < 0 ? its.rank : its.job_rank), std::to_string(row.pid),
               communicator_text(its), its.backend.empty() ? "-" : its.backend, concat("#", its.left),
               since_text(row, now_ns), its.device.empty() ? "-" : its.device,
               format_bytes_rounded(row.process.resident_bytes),
               row.process.device_usage.empty() ? "-" : device_usage_text(row.process.device_usage), process_text(row),
               operation_text(row)});
  }
  if (table.empty()) return;
  report.heading(job.id.empty() ? "Ranks that meet" : concat("Job ", job.id),
                 concat(ranks, ranks == 1 ? " rank: " : " ranks: ", job.command));
  report.add(table);
}

std::string text_of(const HostView& view, const Terminal& terminal, bool with_stacks) {
  Report report(terminal, terminal.columns());
  for (const JobView& job : view.jobs) add_job(job, view.now_ns, report);
  if (report.text().empty()) report.line("No process of this user on this host has a communicator.");
  if (!view.notes.empty()) report.heading("Notes");
  for (const std::string& note : view.notes) report.paragraph(note);
  if (!with_stacks) return report.text();
  std::string text = report.text();
  std::set<std::pair<std::int64_t, std::uint32_t>> shown;
  for (const JobView& job : view.jobs) {
    for (const RankRow& row : job.rows) {
      if (!is_shown(row) || !shown.emplace(row.pid, row.progress.thread).second) continue;
      text += concat("\nStack of rank ", row.progress.job_rank, ", pid ", row.pid, ", thread ", row.progress.thread,
                     ":\n", thread_stack(row.pid, row.progress.thread));
    }
  }
  return text;
}

Json to_json(const std::vector<DeviceUsage>& memory) {
  Json list = Json::array();
  for (const DeviceUsage& one : memory) {
    list.push_back({{"device", one.device}, {"driver", one.driver}, {"bytes", one.bytes}});
  }
  return list;
}

Json to_json(const RankRow& row, std::int64_t now_ns, bool with_stacks) {
  const CommunicatorProgress& its = row.progress;
  Json entry = {{"rank", its.job_rank < 0 ? its.rank : its.job_rank},
                {"pid", row.pid},
                {"thread", its.thread},
                {"communicator", its.name},
                {"communicator_rank", its.rank},
                {"communicator_size", its.size},
                {"backend", its.backend},
                {"stage", stage_name(its.stage)},
                {"inside", its.is_inside()},
                {"operation", its.has_called() ? Json(describe_call(its)) : Json(nullptr)},
                {"entered", its.sequence},
                {"left", its.left},
                {"messages", its.ticks / 2},
                {"pending", its.pending},
                {"moving", row.has_moved},
                {"seconds", its.since_ns > 0 ? Json(static_cast<double>(now_ns - its.since_ns) * 1e-9) : Json(nullptr)},
                {"process", std::string(1, row.process.state)},
                {"device", its.device.empty() ? Json(nullptr) : Json(its.device)},
                {"resident_bytes", row.process.resident_bytes},
                {"device_memory", to_json(row.process.device_usage)},
                {"failure", its.failure.empty() ? Json(nullptr) : Json(its.failure)},
                {"stall", its.stall.empty() ? Json(nullptr) : Json(its.stall)}};
  if (with_stacks) entry["stack"] = thread_stack(row.pid, its.thread);
  return entry;
}

std::string json_of(const HostView& view, bool with_stacks) {
  Json jobs = Json::array();
  for (const JobView& job : view.jobs) {
    Json ranks = Json::array();
    for (const RankRow& row : job.rows) {
      if (is_shown(row)) ranks.push_back(to_json(row, view.now_ns, with_stacks));
    }
    if (ranks.empty()) continue;
    jobs.push_back({{"job", job.id}, {"command", job.command}, {"ranks", std::move(ranks)}});
  }
  return to_text({{"version", 1}, {"jobs", std::move(jobs)}, {"notes", view.notes}});
}

int show_ps(const PsOptions& options) {
  const Terminal terminal(STDOUT_FILENO);
  while (true) {
    HostView view = look_at_host(kPause);
    if (!options.job.empty()) keep_job(view, options.job);
    const std::string text =
        options.as_json ? json_of(view, options.with_stacks) : text_of(view, terminal, options.with_stacks);
    // Home and clear, so that the table stays in its place.
    write_result(options.watches && terminal.is_tty() ? "\x1b[H\x1b[2J" + text : text);
    if (!options.watches) return 0;
    std::this_thread::sleep_for(kInterval);
  }
}

}  // namespace

void add_ps_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_command(
      tutti,
      {.name = "ps",
       .summary = "Show the jobs of this host: ranks, their operations, since when they wait.",
       .usage = "tutti ps [JOB] [options]",
       .description =
           "Shows the ranks of this user's jobs on this host (root: of all users): the operation that each rank is in "
           "and since when, the number of the last collective that it has left (done), its device, the memory of its "
           "process, and on each device as far as the kernel's driver counts it. Does not disturb the jobs. \"> 100 "
           "ms\": nothing happened while the command looked.",
       .footer = "Examples:\n"
                 "  tutti ps                 all jobs\n"
                 "  tutti ps --watch         again every 2 seconds\n"
                 "  tutti ps 4711 --stacks   the job of process 4711, with the stacks of its waiting threads\n"
                 "  tutti ps --json | jq '.jobs[].ranks[] | [.rank, .operation, .seconds]'\n"
                 "\n"
                 "See also: tutti doctor, which says who waits for whom.\n"});
  const auto options = std::make_shared<PsOptions>();
  command.add_option("JOB", options->job, "A job's id, or the pid of one of its ranks or of their launcher.");
  command.add_flag("--json", options->as_json, "Write JSON instead of text.");
  command.add_flag("--watch", options->watches, "Show it again every 2 seconds, until Ctrl-C.");
  command.add_flag(
      "--stacks", options->with_stacks,
      "Show the stack of each rank's waiting thread, by eu-stack or gdb; stops the processes for a moment.");
  command.callback([&invocation, options] { invocation.exit_code = show_ps(*options); });
}

}  // namespace tutti::tools

#include "prof/prof_options.hpp"

#include "command_line.hpp"
#include "text/text.hpp"
#include "tutti/config.hpp"
#include "tutti/info.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

std::chrono::nanoseconds parse_time(const std::string& text) {
  const auto time = parse_duration(text);
  if (!time || time->count() == 0)
    throw UsageError(concat('"', text, "\" is not a duration; accepted: 30 (seconds), 250ms, 90s, 5min, 1.5h"));
  return *time;
}

std::string check_ranks(const std::string& text) {
  for (const std::string& word : split(text, ',')) {
    const bool is_number = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number && word != "-1")
      throw UsageError(concat('"', word, "\" is no rank; accepted: ranks with commas, or -1 for all"));
  }
  return text;
}

void add_recording_options(CLI::App& command, ProfOptions& options) {
  add_value(command, "-b,--backends", "NAME,..",
            "Sources to record: tutti, ccl, nccl, mpi, sycl, ze, cuda, memory. NAME:LEVEL also sets the level by which "
            "tables are ordered and merged. Default: all that are installed, but memory.",
            [&options](const std::string& text) { options.sources = parse_sources(text); });
  add_value(command, "-m,--tracing-mode", "MODE",
            "minimal (operations and collective calls), default (without calls that only ask for something at a high "
            "rate), or full.",
            [&options](const std::string& text) {
              if (text != "minimal" && text != "default" && text != "full")
                throw UsageError(concat('"', text, "\" is no mode; accepted: minimal, default, full"));
              options.mode = text == "default" ? "standard" : text;
            });
  add_value(command, "--traced-ranks", "RANK,..", "Ranks to record. Default: -1, all.",
            [&options](const std::string& text) { options.traced_ranks = check_ranks(text); });
  add_value(command, "--memory-limit", "SIZE", "Memory of the session per process: 64M. Default: the recorder's.",
            [&options](const std::string& text) {
              const auto bytes = parse_bytes(text);
              if (!bytes || *bytes == 0) throw UsageError(concat('"', text, "\" is no size; accepted: 512K, 64M, 1G"));
              options.memory_limit = text;
            });
  command.add_flag("--paused", options.paused,
                   "Record only from tutti::profiling::start() or tutti prof --control start on.");
  command.add_flag("--device-times", options.device_times,
                   "Have runtimes time device work that the program does not ask them to time; changes its queues and "
                   "events.");
  command.add_option("--trace-output", options.trace_output, "Keep the session in this new folder.")->type_name("PATH");
  command.add_flag("--analysis,!--no-analysis", options.output.analysis,
                   "Write a tally (default), or keep the session for tutti tally only.");
  add_value(command, "--every", "TIME", "Write a tally each time this has passed, too: 30s, 5min.",
            [&options](const std::string& text) { options.every = parse_time(text); });
  add_value(command, "--wait", "TIME",
            "Inside a launcher: time that the first rank waits for the others when its command has ended. Default: "
            "60s.",
            [&options](const std::string& text) { options.patience = parse_time(text); });
}

/// Options of iprof whose data no source records: accepted silently they would promise something.
void refuse_absent_options(CLI::App& command) {
  const auto refuse = [&](const std::string& names, const std::string& help, const std::string& reason) {
    command.add_flag_callback(
        names, [reason] { throw UsageError(reason); }, help);
  };
  refuse("-s,--sample", "Not available: no source samples devices.",
         "--sample is not available: no source samples power, frequency or memory of devices");
  refuse("-k,--kernel-verbose", "Not available: no source records the sizes of kernels.",
         "--kernel-verbose is not available: no source records the group sizes of kernels");
}

}  // namespace

void add_prof_options(CLI::App& command, ProfOptions& options) {
  add_recording_options(command, options);
  add_output_options(command, options.output);
  command
      .add_option_function<std::string>(
          "-r,--replay", [&options](const std::string& path) { options.replay = path; },
          "Show a session that was kept, instead of running a command. Default: the latest one.")
      ->type_name("[PATH]")
      ->expected(0, 1);
  command
      .add_option("--control", options.control,
                  "start or stop the recording of a running session, or dump its tally; the session is named by its "
                  "folder, or by the pid of tutti prof or of a process in it. Default: the only one.")
      ->type_name("REQUEST [PID|FOLDER]")
      ->expected(1, 2);
  refuse_absent_options(command);
  command.add_flag_callback(
      "-v,--version", [] { throw CLI::CallForVersion(concat("tutti ", version()), 0); }, "Show the version.");
}

}  // namespace tutti::tools

#include "prof/running_sessions.hpp"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <set>

#include "prof/profiled_run.hpp"
#include "prof/session_folder.hpp"
#include "prof/session_output.hpp"
#include "report/control.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

namespace fs = std::filesystem;

/// The session that a process was started in: of its environment.
std::string session_of_process(pid_t pid) {
  std::ifstream file(concat("/proc/", pid, "/environ"), std::ios::binary);
  const std::string environment{std::istreambuf_iterator<char>(file), {}};
  constexpr std::string_view kName = "TUTTI_PROF_SESSION=";
  for (const std::string& variable : split(environment, '\0')) {
    if (variable.starts_with(kName)) return variable.substr(kName.size());
  }
  return {};
}

/// The same for a process and all below it: of `tutti prof` itself, its command has the variable.
std::string session_below(pid_t pid) {
  if (std::string session = session_of_process(pid); !session.empty()) return session;
  std::ifstream list(concat("/proc/", pid, "/task/", pid, "/children"));
  for (pid_t child = 0; list >> child;) {
    if (std::string session = session_below(child); !session.empty()) return session;
  }
  return {};
}

}  // namespace

fs::path find_running_session(const std::string& word) {
  std::error_code ignored;
  if (fs::is_directory(word, ignored)) return word;
  std::set<std::string> found;
  if (word.empty()) {
    for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
      const std::string name = entry.path().filename();
      pid_t pid = 0;
      if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) continue;
      if (const std::string session = session_of_process(pid); !session.empty() && fs::is_directory(session, ignored))
        found.insert(session);
    }
  } else {
    pid_t pid = 0;
    const char* const end = word.data() + word.size();
    if (std::from_chars(word.data(), end, pid).ptr != end)
      throw UsageError(concat('"', word, "\" is neither the folder of a session nor a pid"));
    if (const std::string session = session_below(pid); !session.empty()) found.insert(session);
  }
  if (found.size() == 1) return *found.begin();
  if (found.empty()) {
    throw UsageError(word.empty() ? "no session of this user runs on this host"
                                  : concat("process ", word, " and its children belong to no session"));
  }
  throw UsageError(concat("several sessions run on this host; name one of ",
                          join(std::vector<std::string>(found.begin(), found.end()), ", ")));
}

int control_session(const ProfOptions& options) {
  const std::string& request = options.control.front();
  if (request != "start" && request != "stop" && request != "dump")
    throw UsageError(concat("--control: \"", request, "\" is no request; accepted: start, stop, dump"));
  const fs::path session = find_running_session(options.control.size() > 1 ? options.control[1] : "");
  if (request == "dump") {
    const profiling::Profile profile = read_chosen(session, options.output, options.sources);
    write_session(profile, options.output, STDOUT_FILENO);
    write_all(STDERR_FILENO, write_files(profile, options.output) + warning_lines(profile));
    return 0;
  }
  const std::size_t told = request == "start" ? profiling::request_start(session) : profiling::request_stop(session);
  write_result(concat(request == "start" ? "Recording was started in " : "Recording was stopped in ", told,
                      told == 1 ? " process" : " processes", " of ", session.string(), ".\n"));
  return 0;
}

}  // namespace tutti::tools

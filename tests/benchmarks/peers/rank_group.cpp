#include "rank_group.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <sstream>
#include <thread>

#include "analysis/statistics.hpp"
#include "launch/launch_target.hpp"
#include "text/text.hpp"

namespace tutti::bench {
namespace {

using tools::concat;

volatile std::sig_atomic_t g_interrupted = 0;

// The launcher of an MPI library needs time to remove the files of the ranks in /dev/shm and /tmp.
constexpr auto kGrace = std::chrono::seconds(6);
constexpr auto kGoodbye = std::chrono::seconds(3);

struct GroupFailure {
  std::string message;
};

}  // namespace

void watch_for_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_interrupted = g_interrupted + 1; };  // without SA_RESTART, waits are interrupted
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
}

RankGroup::RankGroup(const Contestant& contestant, int ranks, std::chrono::seconds patience)
    : ranks_(ranks),
      patience_(patience),
      listener_("tutti-bench-" + make_secret().substr(0, 32)),
      output_(memfd_create("output", MFD_CLOEXEC)) {
  try {
    spawn_all(contestant);
    wait_until_ready(Clock::now() + patience_);
  } catch (const GroupFailure& failure) {
    fail("does not start: " + failure.message);
  } catch (const tools::ProgramError& error) {
    fail(concat("does not start: ", error.what()));
  } catch (const Interrupted&) {
    fail("interrupted");
    throw;
  }
}

RankGroup::~RankGroup() {
  for (RankLink& link : links_) {
    try {
      link.send("quit");
    } catch (const LinkError&) {
      // The rank has ended already.
    }
  }
  if (problem_.empty() && reap_until(Clock::now() + kGoodbye)) return;
  fail("ended");
}

void RankGroup::spawn_one(const std::vector<std::string>& command, const tools::ProcessEnvironment& environment) {
  processes_.push_back(tools::spawn({.program = tools::find_program(command.front()),
                                     .arguments = command,
                                     .environment = environment.list(),
                                     .output = output_.get(),
                                     .error = output_.get(),
                                     .death_signal = SIGTERM}));
}

void RankGroup::spawn_all(const Contestant& contestant) {
  tools::ProcessEnvironment environment;
  tools::prepare_environment(tools::LaunchTarget{}, ranks_, environment);
  for (const auto& [name, value] : contestant.environment) {
    if (name.ends_with("LIBRARY_PATH")) {
      environment.prepend_path(name, value);
    } else {
      environment.set(name, value);
    }
  }
  std::vector<std::string> command = contestant.launcher_command(ranks_);
  command.insert(command.end(), {contestant.driver, listener_.name()});
  command.insert(command.end(), contestant.arguments.begin(), contestant.arguments.end());
  const std::string count = std::to_string(ranks_);
  if (contestant.start == Contestant::Start::one_process) command.push_back(count);
  if (contestant.start != Contestant::Start::rank_per_process) return spawn_one(command, environment);

  // The same environment as with `tutti run`.
  const std::string secret = make_secret();
  store_ = std::make_unique<StoreServer>("unix:tutti-" + make_secret().substr(0, 32), secret);
  environment.set("TUTTI_STORE", store_->address());
  environment.set("TUTTI_JOB_SECRET", secret);
  for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE", "CCL_LOCAL_SIZE"}) environment.set(name, count);
  for (int rank = 0; rank < ranks_; ++rank) {
    for (const char* name : {"RANK", "LOCAL_RANK", "CCL_LOCAL_RANK"}) environment.set(name, std::to_string(rank));
    spawn_one(command, environment);
  }
}

void RankGroup::wait_for_input(Clock::time_point deadline) {
  std::vector<pollfd> descriptors = {{listener_.descriptor(), POLLIN, 0}};
  for (const RankLink& link : links_) descriptors.push_back({link.descriptor(), POLLIN, 0});
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  if (left <= 0) throw GroupFailure{concat("no answer in ", patience_.count(), " s")};
  // Waits in steps, because only waitpid() shows the end of a process that has not connected yet. A connected process
  // closes its link after its last message.
  const int ready = poll(descriptors.data(), descriptors.size(), static_cast<int>(std::min<long>(left, 200)));
  if (g_interrupted != 0) throw Interrupted{};
  if (ready > 0) return;
  (void)reap_until(Clock::now());
  if (!end_.empty()) throw GroupFailure{end_};
}

void RankGroup::handle_greeting(std::size_t from, const std::string& line, int& ready) {
  if (line.starts_with("share ")) {
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (i != from) links_[i].send(line);
    }
    shared_.push_back(line);
    return;
  }
  std::istringstream words(line);
  std::string verb;
  int rank = -1;
  int size = 0;
  words >> verb >> rank >> size >> std::ws;
  if (verb != "ready") throw GroupFailure{line.substr(line.find(' ') + 1)};
  if (size != ranks_) throw GroupFailure{concat(ranks_, " ranks were started, but the library reports ", size)};
  std::getline(words, version_);
  ++ready;
}

void RankGroup::wait_until_ready(Clock::time_point deadline) {
  try {
    for (int ready = 0; ready < ranks_;) {
      wait_for_input(deadline);
      while (auto link = listener_.accept()) {
        for (const std::string& line : shared_) link->send(line);
        links_.push_back(*std::move(link));
      }
      for (std::size_t i = 0; i < links_.size(); ++i) {
        while (const auto line = links_[i].poll()) handle_greeting(i, *line, ready);
      }
    }
  } catch (const LinkError&) {
    throw GroupFailure{how_it_ended()};
  }
}

std::vector<std::string> RankGroup::collect_answers(Clock::time_point deadline) {
  std::vector<std::string> answers(links_.size());
  std::size_t missing = answers.size();
  while (missing > 0) {
    wait_for_input(deadline);
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const auto line = links_[i].poll();
      if (!line) continue;
      if (line->starts_with("failed ")) throw GroupFailure{line->substr(7)};
      answers[i] = *line;
      --missing;
    }
  }
  return answers;
}

BatchResult RankGroup::run(const Batch& batch) {
  BatchResult result;
  if (!problem_.empty()) return {.problem = problem_, .times_us = {}, .seconds_per_call = 0};
  const Workload& work = batch.workload;
  try {
    for (RankLink& link : links_) {
      link.send(concat("measure ", name(work.op), ' ', name(work.type), ' ', work.bytes, ' ', batch.warm_ups, ' ',
                       batch.calls, ' ', batch.check ? 1 : 0, ' ', batch.release ? 1 : 0, ' ', batch.fresh ? 1 : 0));
    }
    std::vector<std::vector<double>> times;
    for (const std::string& answer : collect_answers(Clock::now() + patience_)) {
      if (answer.starts_with("wrong ")) {
        result.problem = "wrong result, " + answer.substr(6);
        continue;
      }
      std::istringstream words(answer.substr(answer.find(' ') + 1));
      double total = 0;
      words >> total;
      result.seconds_per_call = std::max(result.seconds_per_call, total * 1e-9 / batch.calls);
      std::vector<double>& rank = times.emplace_back();
      for (double nanoseconds = 0; words >> nanoseconds;) rank.push_back(nanoseconds * 1e-3);
    }
    if (result.problem.empty()) result.times_us = tools::slowest_per_iteration(times);
  } catch (const LinkError&) {
    fail(how_it_ended());
  } catch (const GroupFailure& failure) {
    fail(failure.message);
  }
  if (!problem_.empty()) result.problem = problem_;
  return result;
}

void RankGroup::release() {
  if (!problem_.empty()) return;
  try {
    for (RankLink& link : links_) link.send("release");
    (void)collect_answers(Clock::now() + patience_);
  } catch (const LinkError&) {
    fail(how_it_ended());
  } catch (const GroupFailure& failure) {
    fail(failure.message);
  }
}

bool RankGroup::reap_until(Clock::time_point deadline) {
  for (;;) {
    std::erase_if(processes_, [&](pid_t process) {
      int status = 0;
      if (waitpid(process, &status, WNOHANG) != process) return false;
      if (end_.empty()) {
        const std::string words = last_words();
        end_ = concat(tools::describe_end(status), words.empty() ? "" : ": ", words);
      }
      return true;
    });
    if (processes_.empty() || Clock::now() >= deadline || g_interrupted > 1) return processes_.empty();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// Describes the end of a rank that has closed its link.
std::string RankGroup::how_it_ended() {
  (void)reap_until(Clock::now() + std::chrono::seconds(1));
  return end_.empty() ? "a rank closed its connection" : end_;
}

void RankGroup::fail(std::string problem) {
  if (problem_.empty()) problem_ = std::move(problem);
  links_.clear();
  for (const pid_t process : processes_) kill(-process, SIGTERM);
  if (reap_until(Clock::now() + kGrace)) return;
  for (const pid_t process : processes_) kill(-process, SIGKILL);
  (void)reap_until(Clock::now() + kGrace);
}

std::string RankGroup::last_words() const {
  std::array<char, 4096> bytes{};
  const off_t size = lseek(output_.get(), 0, SEEK_END);
  const off_t begin = std::max<off_t>(size - static_cast<off_t>(bytes.size()), 0);
  const ssize_t count = pread(output_.get(), bytes.data(), bytes.size(), begin);
  if (count <= 0) return {};
  std::string last;
  for (const std::string& line : tools::split({bytes.data(), static_cast<std::size_t>(count)}, '\n')) {
    if (!tools::trim(line).empty()) last = tools::trim(line);
  }
  return last;
}

}  // namespace tutti::bench

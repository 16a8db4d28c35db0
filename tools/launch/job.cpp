#include "launch/job.hpp"

#include <fcntl.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "command.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {
constexpr auto kGrace = std::chrono::seconds(2);
// A library's launcher first gives its ranks about a second and then removes their files from /dev/shm and /tmp. Killed
// earlier, it would leave the files behind.
constexpr auto kLauncherGrace = std::chrono::seconds(6);
constexpr std::size_t kMostNamed = 8;
}  // namespace

Job::Job(EventLoop& loop, const LaunchTarget& target, JobSpec spec, Sink sink)
    : loop_(loop), spec_(std::move(spec)), sink_(std::move(sink)) {
  adopt_orphans();
  prepare_environment(target, spec_.ranks, environment_);
  for (const auto& [name, value] : spec_.environment) environment_.set(name, value);
  if (!spec_.backend.empty()) environment_.set("TUTTI_BACKEND", spec_.backend);
  for (int rank = 0; rank < spec_.ranks; ++rank) alive_.insert(rank);
  try {
    guard_.emplace(environment_);
    if (target.launcher == nullptr) {
      start_ranks(target);
    } else {
      start_launcher(target);
    }
  } catch (...) {
    end_descendants();
    for (const auto& [number, stream] : streams_) loop_.forget(number);
    throw;
  }
}

Job::~Job() {
  end_descendants();
  for (const auto& [number, stream] : streams_) loop_.forget(number);
}

std::pair<spi::FileDescriptor, spi::FileDescriptor> Job::open_streams(int rank) {
  std::array<spi::FileDescriptor, 2> writers;
  for (const RankStream kind : {RankStream::output, RankStream::error}) {
    Pipe pipe = make_pipe();
    const int number = pipe.read.get();
    fcntl(number, F_SETFL, O_NONBLOCK);
    streams_[number] = Stream{std::move(pipe.read), rank, kind};
    loop_.watch(number, [this, number] { read_stream(number); });
    writers[static_cast<std::size_t>(kind)] = std::move(pipe.write);
  }
  return {std::move(writers[0]), std::move(writers[1])};
}

void Job::start_ranks(const LaunchTarget& target) {
  const std::string program = find_program(spec_.command.front());
  const std::string secret = make_secret();
  store_ = std::make_unique<StoreServer>("unix:tutti-" + make_secret().substr(0, 32), secret);
  environment_.set("TUTTI_STORE", store_->address());
  environment_.set("TUTTI_JOB_SECRET", secret);
  environment_.set("WORLD_SIZE", std::to_string(spec_.ranks));
  environment_.set("LOCAL_WORLD_SIZE", std::to_string(spec_.ranks));
  // For programs whose ranks meet there, as those of torch.distributed; those of tutti meet at TUTTI_STORE.
  if (const std::uint16_t port = free_loopback_port(); port != 0) {
    environment_.set("MASTER_ADDR", "127.0.0.1");
    environment_.set("MASTER_PORT", std::to_string(port));
  }
  for (int rank = 0; rank < spec_.ranks; ++rank) {
    environment_.set("RANK", std::to_string(rank));
    environment_.set("LOCAL_RANK", std::to_string(rank));
    const auto [output, error] = open_streams(rank);
    const pid_t process = spawn({.program = program,
                                 .arguments = spec_.command,
                                 .environment = environment_.list(),
                                 .input = rank == 0 ? spec_.input : -1,
                                 .output = output.get(),
                                 .error = error.get()});
    processes_[process] = rank;
    exit_order_.add(process);
    groups_.insert(process);
    guard_->add(process);
  }
  launcher_name_ = target.spec;
}

void Job::start_launcher(const LaunchTarget& target) {
  // Check for the program here: the launcher would report a missing program once per rank, in its own words.
  const std::string program = find_program(spec_.command.front());
  control_ = std::make_unique<LineServer>(
      loop_, [this](int peer, std::string_view line) { rank_message(peer, line); },
      [this](int peer) { rank_of_peer_.erase(peer); });
  std::vector<std::string> command = launcher_command(target, spec_.ranks);
  command.insert(command.end(), {own_program(), "run-rank", control_->name(),
                                 std::string(target.launcher->rank_variable), "--", program});
  command.insert(command.end(), spec_.command.begin() + 1, spec_.command.end());
  const auto [output, error] = open_streams(-1);
  // On SIGTERM the launcher ends its ranks; on SIGKILL it could not.
  const pid_t process = spawn({.program = target.path,
                               .arguments = command,
                               .environment = environment_.list(),
                               .input = spec_.input,
                               .output = output.get(),
                               .error = error.get(),
                               .death_signal = SIGTERM});
  processes_[process] = -1;
  groups_.insert(process);
  guard_->add(process, kLauncherGrace);
  launcher_name_ = target.path.substr(target.path.rfind('/') + 1);
}

// Messages of `tutti run-rank`: "rank R" when it begins, "end STATUS" when its program has ended.
void Job::rank_message(int peer, std::string_view line) {
  const std::vector<std::string> words = split(line, ' ');
  int number = -1;
  if (words.size() != 2) return;
  const char* const end = words[1].data() + words[1].size();
  if (std::from_chars(words[1].data(), end, number).ptr != end) return;
  if (words[0] == "rank" && number >= 0 && number < spec_.ranks) {
    rank_of_peer_[peer] = number;
    const auto [output, error] = open_streams(number);
    control_->send_descriptors(peer, {output.get(), error.get()});
  } else if (words[0] == "end" && rank_of_peer_.contains(peer)) {
    rank_ended(rank_of_peer_[peer], number);
  }
}

bool Job::read_stream(int descriptor) {
  const Stream& stream = streams_.at(descriptor);
  std::array<char, 65536> bytes{};
  const ssize_t count = read(descriptor, bytes.data(), bytes.size());
  if (count > 0) {
    // While the job stops, the launcher only repeats that a rank has failed.
    const bool silent = stream.rank < 0 && stopping_;
    if (!silent) sink_(stream.rank, stream.kind, {bytes.data(), static_cast<std::size_t>(count)});
    return true;
  }
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  close_stream(descriptor);
  return true;
}

void Job::close_stream(int descriptor) {
  const auto node = streams_.extract(descriptor);
  loop_.forget(descriptor);
  sink_(node.mapped().rank, node.mapped().kind, {});
}

void Job::rank_ended(int rank, int wait_status) {
  alive_.erase(rank);
  if (wait_status == 0) complete_.insert(rank);
  if (wait_status == 0 || failed_ || stopping_) return;
  failed_ = true;
  end_.rank = rank;
  end_.wait_status = wait_status;
  stop(exit_code_of(wait_status), concat("rank ", rank, " ", describe_end(wait_status),
                                         alive_.empty() ? "" : "; the other ranks were ended", describe_complete()));
}

std::string Job::describe_complete() const {
  if (complete_.empty()) return {};
  std::vector<std::string> ranks;
  for (const int rank : complete_) ranks.push_back(std::to_string(rank));
  const bool few = ranks.size() <= kMostNamed;
  return concat("; ", few ? "rank " + join(ranks, ", ") : std::to_string(ranks.size()) + " ranks",
                " had exited with code 0 before");
}

void Job::launcher_ended(int wait_status) {
  // Messages of the ranks may not have been read yet.
  control_->drain();
  if (wait_status == 0 || stopping_) return;
  if (forwarded_ != 0) {
    stop(128 + forwarded_, concat("the job was ended by ", describe_signal(forwarded_)));
  } else {
    stop(exit_code_of(wait_status),
         concat(launcher_name_, " ", describe_end(wait_status), "; no rank reported a failure"));
  }
}

std::optional<std::pair<pid_t, int>> Job::next_ended() {
  // Several ranks may have ended by now: the first one is the reason for the others.
  while (const std::optional<pid_t> first = exit_order_.take()) {
    if (!processes_.contains(*first)) continue;
    if (const std::optional<int> status = status_of_ended(*first)) return std::pair(*first, *status);
  }
  for (const auto& [process, rank] : processes_) {
    if (const std::optional<int> status = status_of_ended(process)) return std::pair(process, *status);
  }
  return std::nullopt;
}

void Job::on_child() {
  bool is_ours = false;
  while (const auto ended = next_ended()) {
    is_ours = true;
    const int rank = processes_.at(ended->first);
    processes_.erase(ended->first);
    if (rank >= 0) {
      rank_ended(rank, ended->second);
    } else {
      launcher_ended(ended->second);
    }
  }
  if (!is_ours) reap_orphans(groups_);
  if (processes_.empty() && !finished_) finish();
}

void Job::finish() {
  finished_ = true;
  kill_at_.reset();
  if (const std::vector<pid_t> left = end_descendants(); !left.empty()) {
    std::vector<std::string> names;
    for (const pid_t process : left) names.push_back(std::to_string(process));
    end_.message +=
        concat(end_.message.empty() ? "" : "; ", "processes still running after SIGKILL: ", join(names, ", "));
    if (end_.exit_code == 0) end_.exit_code = kExitFailure;
  }
  groups_.clear();
  // All writers are gone: the pipes hold the rest of the output.
  while (!streams_.empty()) {
    const int descriptor = streams_.begin()->first;
    if (!read_stream(descriptor)) close_stream(descriptor);
  }
}

void Job::stop(int exit_code, std::string message) {
  if (stopping_ || finished_) return;
  stopping_ = true;
  end_.exit_code = exit_code;
  end_.message = std::move(message);
  kill_at_ = Clock::now() + (control_ ? kLauncherGrace : kGrace);
  signal_all(SIGTERM);
}

void Job::kill_now() {
  if (finished_) return;
  kill_at_ = Clock::now();
  tick();
}

void Job::pass_on(int signal) const { signal_all(signal); }

Clock::duration Job::suspend() {
  const Clock::time_point begin = Clock::now();
  signal_all(SIGSTOP);
  raise(SIGSTOP);
  signal_all(SIGCONT);
  const Clock::duration away = Clock::now() - begin;
  if (kill_at_) *kill_at_ += away;
  return away;
}

void Job::forward(int signal) {
  forwarded_ = signal;
  signal_all(signal);
}

void Job::tick() {
  if (finished_ || !kill_at_ || Clock::now() < *kill_at_) return;
  kill_at_.reset();
  signal_all(SIGKILL);
  end_descendants();
  processes_.clear();
  finish();
}

void Job::signal_all(int signal) const {
  for (const pid_t group : groups_) kill(-group, signal);
}

}  // namespace tutti::tools

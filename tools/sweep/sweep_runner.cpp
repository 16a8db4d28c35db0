#include "sweep/sweep_runner.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>

#include "command.hpp"
#include "sweep/statistics.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

// Cuts the first word off.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = line.find(' ');
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return word;
}

// The last line that says something; launchers draw frames around their messages.
std::string last_words(std::string_view text) {
  std::string words;
  for (const std::string& line : split(text, '\n')) {
    if (std::ranges::any_of(line, [](unsigned char c) { return std::isalpha(c) != 0; })) words = trim(line);
  }
  return words;
}

std::vector<double> numbers_in(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<double> numbers;
  for (double number = 0; in >> number;) numbers.push_back(number);
  return numbers;
}

// Of calls, microseconds and whether they are a span in turn, three numbers per iteration.
DeviceUse median_use(const std::vector<double>& numbers) {
  std::vector<double> calls;
  std::vector<double> times;
  bool is_span = false;
  for (std::size_t i = 0; i + 2 < numbers.size(); i += 3) {
    calls.push_back(numbers[i]);
    times.push_back(numbers[i + 1]);
    is_span = is_span || numbers[i + 2] != 0;
  }
  if (calls.empty()) return {};
  return {static_cast<std::uint64_t>(percentile(calls, 0.5)), percentile(times, 0.5), is_span};
}

/// Nothing when the ranks do not agree on how many there were.
std::vector<double> slowest_of(const std::map<int, std::vector<double>>& times_of_rank) {
  std::vector<std::vector<double>> times;
  for (const auto& [rank, list] : times_of_rank) times.push_back(list);
  return slowest_per_iteration(times);
}

}  // namespace

SweepRunner::SweepRunner(EventLoop& loop, const LaunchTarget& target, SweepSettings settings, Events events)
    : loop_(loop), target_(target), settings_(std::move(settings)), events_(std::move(events)) {}

void SweepRunner::run(std::vector<SweepCell> cells) {
  cells_ = std::move(cells);
  for (std::size_t first = 0; first < cells_.size() && stops_ == 0;) first = run_job(first);
}

void SweepRunner::on_child() {
  if (job_) job_->on_child();
}

void SweepRunner::suspend() {
  if (job_) last_sign_ += job_->suspend();
}

void SweepRunner::stop() {
  if (!job_) return;
  ++stops_;
  job_->stop(kExitInterrupted, "interrupted");
  if (stops_ > 1) job_->kill_now();
}

JobSpec SweepRunner::make_spec(std::size_t first, const std::string& report) const {
  std::vector<std::string> names;
  for (std::size_t i = first; i < cells_.size(); ++i) names.push_back(to_text(cells_[i]));
  JobSpec spec{.ranks = settings_.ranks};
  spec.command = {own_program(),  "sweep-rank",
                  "--report",     report,
                  "--target",     target_.name,
                  "--device",     settings_.device,
                  "--cells",      join(names, ","),
                  "--dtype",      std::string(name(settings_.type)),
                  "--ranks",      std::to_string(settings_.ranks),
                  "--iterations", std::to_string(settings_.iterations),
                  "--seconds",    concat(settings_.seconds_per_cell)};
  spec.backend = target_.backend();
  return spec;
}

/// Returns the first cell that still needs a job.
std::size_t SweepRunner::run_job(std::size_t first) {
  job_first_ = next_ = first;
  begun_ = false;
  answers_.clear();
  rank_of_peer_.clear();
  device_of_rank_.clear();
  failure_.clear();
  failed_rank_ = -1;
  last_error_.clear();
  last_sign_ = Clock::now();
  LineServer report(
      loop_, [this](int peer, std::string_view line) { on_message(peer, line); }, [](int) {});
  if (events_.begun) events_.begun(cells_[first]);
  job_ = std::make_unique<Job>(loop_, target_, make_spec(first, report.name()),
                               [this](int rank, RankStream stream, std::string_view bytes) {
                                 // Once the ranks are there, the launcher only comments on what they do.
                                 if (stream != RankStream::error || (rank < 0 && begun_)) return;
                                 if (std::string words = last_words(bytes); !words.empty())
                                   last_error_ = std::move(words);
                               });
  job_->on_child();
  bool hung = false;
  while (job_->running()) {
    const auto late = last_sign_ + settings_.cell_timeout;
    const auto kill_at = job_->deadline();
    loop_.wait(kill_at ? std::min(*kill_at, late) : late);
    finish_cells();
    if (!hung && stops_ == 0 && next_ < cells_.size() && Clock::now() >= last_sign_ + settings_.cell_timeout) {
      hung = true;
      job_->stop(kExitTimeout, "hung");
    }
    job_->tick();
  }
  report.drain();
  finish_cells();
  const std::string status = hung ? "hung > " + settings_.timeout_text : failure_status();
  // What a rank said about a failure of its own says more than the last line it printed, and a back trace says nothing
  // here.
  const bool crashed = WIFSIGNALED(job_->end().wait_status);
  const std::string note = failure_.empty() && !crashed ? last_error_ : std::string();
  job_.reset();
  if (stops_ > 0 || next_ == cells_.size()) return next_;
  if (begun_) {
    give_up_cell(status, note);
    return next_;
  }
  // It did not get as far as a cell; that will not be different next time.
  while (next_ < cells_.size()) give_up_cell("did not start: " + status, note);
  return next_;
}

std::string SweepRunner::failure_status() const {
  const JobEnd& end = job_->end();
  // Of a rank that ended without a word the others may have said that it is gone.
  const bool is_known = WIFEXITED(end.wait_status) && WEXITSTATUS(end.wait_status) == kExitFailure;
  const bool ended_silently = end.rank >= 0 && end.rank != failed_rank_ && !is_known;
  if (!failure_.empty() && !ended_silently) return "failed: " + failure_;
  if (end.rank >= 0 && WIFSIGNALED(end.wait_status)) return concat("crashed: signal ", WTERMSIG(end.wait_status));
  if (end.rank >= 0) return concat("exited with ", WEXITSTATUS(end.wait_status));
  return end.message.empty() ? "ended without a result" : end.message;
}

void SweepRunner::on_message(int peer, std::string_view line) {
  last_sign_ = Clock::now();
  const std::string_view kind = take_word(line);
  if (kind == "failed") {
    if (failure_.empty()) {
      failure_ = line;
      failed_rank_ = rank_of_peer_.contains(peer) ? rank_of_peer_[peer] : -1;
    }
    return;
  }
  int number = 0;
  const std::string_view word = take_word(line);
  if (std::from_chars(word.data(), word.data() + word.size(), number).ec != std::errc{} || number < 0) return;
  if (kind == "rank") {
    rank_of_peer_[peer] = number;
    device_of_rank_[number] = line;
  } else if (const auto rank = rank_of_peer_.find(peer); rank != rank_of_peer_.end()) {
    on_answer(kind, static_cast<std::size_t>(number), line, rank->second);
  }
}

void SweepRunner::on_answer(std::string_view kind, std::size_t index, std::string_view rest, int rank) {
  if (job_first_ + index >= cells_.size()) return;
  Answer& answer = answers_[index];
  if (kind == "begin") {
    begun_ = true;
    if (rank == 0 && events_.begun) events_.begun(cells_[job_first_ + index]);
  } else if (kind == "note") {
    // Each rank may say so.
    if (answer.note.find(rest) == std::string::npos) answer.note += concat(answer.note.empty() ? "" : "; ", rest);
  } else if (kind == "device") {
    const DeviceUse use = median_use(numbers_in(rest));
    if (use.time_us >= answer.device.time_us) answer.device = use;
  } else if (kind == "observed") {
    answer.observed[rank] = numbers_in(rest);
  } else if (kind == "wrong") {
    answer.wrong = rest;
    answer.times[rank];
  } else if (kind == "ok") {
    answer.times[rank] = numbers_in(rest);
  }
}

// Makes rows of the cells that all ranks have answered, in order.
void SweepRunner::finish_cells() {
  while (next_ < cells_.size()) {
    const auto found = answers_.find(next_ - job_first_);
    if (found == answers_.end() || found->second.times.size() < static_cast<std::size_t>(settings_.ranks)) return;
    const Answer& answer = found->second;
    const SweepCell& cell = cells_[next_];
    const CellShape shape(cell, settings_.type, settings_.ranks);
    SweepRow row{.cell = cell, .backend = target_.name, .bytes = shape.message_bytes()};
    const std::vector<double> slowest = slowest_of(answer.times);
    const std::vector<double> observed = slowest_of(answer.observed);
    if (!answer.wrong.empty()) {
      row.status = "wrong result: " + answer.wrong;
    } else if (slowest.empty()) {
      row.status = "failed: the ranks made different numbers of calls";
    } else {
      row = make_row(cell, target_.name, shape, slowest);
      row.device = answer.device;
      if (!observed.empty()) row.observed_time_us = percentile(observed, 0.5);
    }
    row.note = answer.note;
    row.rank_devices = rank_devices();
    answers_.erase(found);
    ++next_;
    events_.done(std::move(row));
  }
}

void SweepRunner::give_up_cell(const std::string& status, const std::string& note) {
  const SweepCell& cell = cells_[next_++];
  SweepRow row{
      .cell = cell, .backend = target_.name, .bytes = CellShape(cell, settings_.type, settings_.ranks).message_bytes()};
  row.status = status;
  row.note = note;
  row.rank_devices = rank_devices();
  events_.done(std::move(row));
}

std::vector<std::string> SweepRunner::rank_devices() const {
  std::vector<std::string> names;
  for (const auto& [rank, name] : device_of_rank_) names.push_back(name);
  return names;
}

}  // namespace tutti::tools

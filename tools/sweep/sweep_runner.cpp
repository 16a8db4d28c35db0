#include "sweep/sweep_runner.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <utility>

#include "analysis/statistics.hpp"
#include "command.hpp"
#include "sweep/rank/counted_calls.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

std::vector<double> numbers_in(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<double> numbers;
  for (double number = 0; in >> number;) numbers.push_back(number);
  return numbers;
}

/// Microseconds rounded to nanoseconds, because sums of decimal fractions have long tails.
double rounded_us(double microseconds) { return std::round(microseconds * 1e3) / 1e3; }

/// Empty when the ranks made different numbers of calls.
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
                  "--target",     target_.spec,
                  "--device",     settings_.device,
                  "--cells",      join(names, ","),
                  "--dtype",      std::string(name(settings_.type)),
                  "--ranks",      std::to_string(settings_.ranks),
                  "--iterations", std::to_string(settings_.iterations),
                  "--seconds",    concat(settings_.seconds_per_cell)};
  if (settings_.concurrent > 1) spec.command.insert(spec.command.end(), {"--concurrent", concat(settings_.concurrent)});
  if (settings_.counted) spec.command.emplace_back("--counted");
  if (settings_.compute_passes > 0)
    spec.command.insert(spec.command.end(), {"--compute-passes", concat(settings_.compute_passes)});
  spec.backend = target_.spec;
  spec.environment = settings_.environment;
  return spec;
}

/// Returns the first cell that still needs a job.
std::size_t SweepRunner::run_job(std::size_t first) {
  job_first_ = next_ = first;
  begun_ = false;
  answers_.clear();
  rank_of_peer_.clear();
  device_of_rank_.clear();
  process_of_rank_.clear();
  failure_ = {};
  last_sign_ = Clock::now();
  LineServer report(
      loop_, [this](int peer, std::string_view line) { on_message(peer, line); }, [](int) {});
  if (events_.begun) events_.begun(cells_[first]);
  job_ = std::make_unique<Job>(loop_, target_, make_spec(first, report.name()),
                               [this](int rank, RankStream stream, std::string_view bytes) {
                                 // Once a cell has begun, the launcher only comments on the ranks.
                                 if (stream == RankStream::error && (rank >= 0 || !begun_)) failure_.heard(bytes);
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
  if (events_.used && !process_of_rank_.empty()) events_.used(use_of_job());
  const std::string status = hung ? "hung > " + settings_.timeout_text : failure_.status(job_->end());
  const std::string note = failure_.note(job_->end());
  job_.reset();
  if (stops_ > 0 || next_ == cells_.size()) return next_;
  if (begun_) {
    give_up_cell(status, note);
    return next_;
  }
  // The job failed before its first cell; another job would fail in the same way.
  while (next_ < cells_.size()) give_up_cell("did not start: " + status, note);
  return next_;
}

void SweepRunner::on_message(int peer, std::string_view line) {
  last_sign_ = Clock::now();
  const std::optional<SweepMessage> message = decode(line);
  if (!message) return;
  const auto rank = rank_of_peer_.find(peer);
  if (message->word == SweepWord::failed) {
    failure_.reported(rank != rank_of_peer_.end() ? rank->second : -1, message->text);
  } else if (message->word == SweepWord::rank) {
    if (message->number >= static_cast<std::size_t>(settings_.ranks)) return;
    rank_of_peer_[peer] = static_cast<int>(message->number);
    device_of_rank_[static_cast<int>(message->number)] = message->text;
  } else if (message->word == SweepWord::setting) {
    if (events_.setting) events_.setting(std::string(message->text));
  } else if (message->word == SweepWord::library) {
    library_ = message->text;
  } else if (message->word == SweepWord::process) {
    if (rank == rank_of_peer_.end()) return;
    auto process = process_from(message->text);
    if (!process) return;
    if (events_.process) events_.process(rank->second, *process);
    process_of_rank_[rank->second] = std::move(*process);
  } else if (rank != rank_of_peer_.end()) {
    on_answer(*message, rank->second);
  }
}

void SweepRunner::on_answer(const SweepMessage& message, int rank) {
  const std::size_t index = message.number;
  if (index >= cells_.size() - job_first_) return;
  Answer& answer = answers_[index];
  switch (message.word) {
    case SweepWord::begin:
      begun_ = true;
      if (rank == 0 && events_.begun) events_.begun(cells_[job_first_ + index]);
      break;
    case SweepWord::note:
      // Several ranks may send the same note.
      if (answer.note.find(message.text) != std::string::npos) break;
      answer.note += concat(answer.note.empty() ? "" : "; ", message.text);
      break;
    case SweepWord::served:
      answer.served_by = message.text;
      break;
    case SweepWord::emulated:
      answer.emulated = message.text;
      break;
    case SweepWord::staged:
      answer.is_staged = true;
      break;
    case SweepWord::counts:
      if (const auto counts = counts_from(message.text)) answer.counts[rank] = *counts;
      break;
    case SweepWord::device:
      if (const DeviceUse use = median_device_use(message.text); use.time_us >= answer.device.time_us) {
        answer.device = use;
      }
      break;
    case SweepWord::observed:
      answer.observed[rank] = numbers_in(message.text);
      break;
    case SweepWord::steps:
      for (bool is_step = true; const double time : numbers_in(message.text)) {
        (is_step ? answer.steps : answer.computes)[rank].push_back(time);
        is_step = !is_step;
      }
      break;
    case SweepWord::wrong:
      answer.wrong = message.text;
      answer.times[rank];
      break;
    case SweepWord::ok:
      answer.times[rank] = numbers_in(message.text);
      break;
    case SweepWord::alive:
    case SweepWord::rank:
    case SweepWord::process:
    case SweepWord::library:
    case SweepWord::setting:
    case SweepWord::failed:
      break;
  }
}

// Makes rows of the cells that all ranks have reported, in order.
void SweepRunner::finish_cells() {
  while (next_ < cells_.size()) {
    const auto found = answers_.find(next_ - job_first_);
    if (found == answers_.end() || found->second.times.size() < static_cast<std::size_t>(settings_.ranks)) return;
    SweepRow row = row_of(cells_[next_], found->second);
    answers_.erase(found);
    ++next_;
    events_.done(std::move(row));
  }
}

SweepRow SweepRunner::row_of(const SweepCell& cell, const Answer& answer) const {
  SweepRow row = empty_row(cell);
  const std::vector<double> slowest = slowest_of(answer.times);
  const std::vector<double> observed = slowest_of(answer.observed);
  if (!answer.wrong.empty()) {
    row.status = "wrong result: " + answer.wrong;
  } else if (slowest.empty()) {
    row.status = "failed: the ranks made different numbers of calls";
  } else {
    row = make_row(cell, target_.spec, CellShape(cell, settings_.type, settings_.ranks), slowest);
    row.rank_devices = rank_devices();
    row.device = answer.device;
    for (const auto& [rank, times] : answer.times) row.rank_time_us.push_back(percentile(times, 0.5));
    if (!observed.empty()) row.observed_time_us = percentile(observed, 0.5);
    const std::vector<double> steps = slowest_of(answer.steps);
    const std::vector<double> computes = slowest_of(answer.computes);
    if (!steps.empty() && !computes.empty()) {
      row.run_steps_us = {percentile(steps, 0.5)};
      row.run_computes_us = {percentile(computes, 0.5)};
    }
    row.counts = counts_of(answer);
  }
  row.served_by = answer.served_by;
  row.emulated = answer.emulated;
  row.is_staged = answer.is_staged;
  row.note = answer.note;
  return row;
}

std::optional<CellCounts> SweepRunner::counts_of(const Answer& answer) const {
  if (answer.counts.size() < static_cast<std::size_t>(settings_.ranks)) return std::nullopt;
  CellCounts total;
  for (const auto& [rank, counts] : answer.counts) total.add_rank(counts);
  total.host_time_us = rounded_us(total.host_time_us);
  total.device_time_us = rounded_us(total.device_time_us);
  return total;
}

SweepRow SweepRunner::empty_row(const SweepCell& cell) const {
  const CellShape shape(cell, settings_.type, settings_.ranks);
  return {.cell = cell,
          .backend = target_.spec,
          .ranks = settings_.ranks,
          .type = settings_.type,
          .bytes = shape.message_bytes(),
          .rank_devices = rank_devices()};
}

void SweepRunner::give_up_cell(const std::string& status, const std::string& note) {
  SweepRow row = empty_row(cells_[next_]);
  row.status = status;
  row.note = note;
  if (const auto answer = answers_.find(next_ - job_first_); answer != answers_.end()) {
    row.served_by = answer->second.served_by;
    row.emulated = answer->second.emulated;
  }
  ++next_;
  events_.done(std::move(row));
}

BackendSetup SweepRunner::use_of_job() const {
  BackendSetup use{.backend = target_.spec, .version = target_.version, .library = library_};
  std::set<std::string> hosts;
  std::map<std::pair<std::string, std::int64_t>, std::uint64_t> processes;
  std::set<std::pair<std::string, std::string>> devices;
  std::set<std::pair<std::string, std::string>> subdevices;
  for (const auto& [rank, process] : process_of_rank_) {
    hosts.insert(process.host);
    std::uint64_t& threads = processes[{process.host, process.pid}];
    threads = std::max(threads, process.threads);
    const std::string& device = device_of_rank_.at(rank);
    if (device == "host") continue;
    const std::size_t dot = device.rfind('.');  // "sycl:0.1" is sub-device 1 of device 0
    devices.emplace(process.host, device.substr(0, dot));
    if (dot != std::string::npos) subdevices.emplace(process.host, device);
  }
  use.hostnames = hosts.size();
  use.processes = processes.size();
  for (const auto& [process, threads] : processes) use.threads += threads;
  use.devices = devices.size();
  use.subdevices = subdevices.size();
  return use;
}

std::vector<std::string> SweepRunner::rank_devices() const {
  std::vector<std::string> names;
  for (const auto& [rank, name] : device_of_rank_) names.push_back(name);
  return names;
}

}  // namespace tutti::tools

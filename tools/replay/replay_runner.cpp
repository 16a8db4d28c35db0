#include "replay/replay_runner.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "command.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

double number_in(const std::string& word) { return std::strtod(word.c_str(), nullptr); }

std::uint64_t whole_number_in(const std::string& word) {
  std::uint64_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

}  // namespace

double ReplayOutcome::wall_us() const noexcept {
  double longest = 0;
  for (const ReplayedRank& rank : ranks) longest = std::max(longest, rank.wall_us);
  return longest;
}

ReplayRunner::ReplayRunner(EventLoop& loop, const LaunchTarget& target, ReplaySettings settings, std::size_t rows,
                           std::function<void(std::uint64_t)> progress)
    : loop_(loop), target_(target), settings_(std::move(settings)), progress_(std::move(progress)) {
  outcome_.backend = target.spec + (settings_.autotune ? " tuned" : "");
  outcome_.rows.resize(rows);
  outcome_.ranks.resize(static_cast<std::size_t>(settings_.ranks));
}

JobSpec ReplayRunner::make_spec(const std::string& report) const {
  JobSpec spec{.ranks = settings_.ranks};
  spec.command = {own_program(), "replay-rank",
                  "--report",    report,
                  "--file",      settings_.file,
                  "--ranks",     std::to_string(settings_.ranks),
                  "--rounds",    std::to_string(settings_.rounds),
                  "--gaps",      concat(settings_.gaps)};
  if (settings_.check) spec.command.emplace_back("--check");
  if (settings_.prefix) spec.command.emplace_back("--prefix");
  if (settings_.autotune) {
    spec.command.emplace_back("--tune");
    spec.environment.emplace_back("HOROVOD_AUTOTUNE", "1");
  }
  spec.backend = target_.spec;
  return spec;
}

ReplayOutcome ReplayRunner::run() {
  LineServer report(
      loop_, [this](int peer, std::string_view line) { on_message(peer, line); }, [](int) {});
  last_sign_ = Clock::now();
  job_ = std::make_unique<Job>(loop_, target_, make_spec(report.name()),
                               [this](int, RankStream stream, std::string_view bytes) {
                                 if (stream == RankStream::error) failure_.heard(bytes);
                               });
  job_->on_child();
  bool hung = false;
  while (job_->running()) {
    const auto late = last_sign_ + settings_.patience;
    const auto kill_at = job_->deadline();
    loop_.wait(kill_at ? std::min(*kill_at, late) : late);
    if (!hung && stops_ == 0 && Clock::now() >= last_sign_ + settings_.patience) {
      hung = true;
      job_->stop(kExitTimeout, "hung");
    }
    job_->tick();
  }
  report.drain();
  if (hung) {
    outcome_.status = concat("hung: no operation ended for ",
                             std::chrono::duration_cast<std::chrono::seconds>(settings_.patience).count(), " s");
  } else if (done_ < settings_.ranks || job_->end().exit_code != 0) {
    outcome_.status = failure_.status(job_->end());
    outcome_.note = failure_.note(job_->end());
  }
  job_.reset();
  return std::move(outcome_);
}

void ReplayRunner::on_child() {
  if (job_) job_->on_child();
}

void ReplayRunner::suspend() {
  if (job_) last_sign_ += job_->suspend();
}

void ReplayRunner::stop() {
  if (!job_) return;
  ++stops_;
  job_->stop(kExitInterrupted, "interrupted");
  if (stops_ > 1) job_->kill_now();
}

// Lines of `tutti replay-rank`: "rank R BACKEND", "progress N", "row ROW CALLS US HOST_CALLS", "total WALL BUSY WAITED
// LAST", "size KIND CLASS COUNT BYTES US", "tuned LINE", "done", "failed TEXT".
void ReplayRunner::on_message(int peer, std::string_view line) {
  last_sign_ = Clock::now();
  const std::vector<std::string> words = split(line, ' ');
  if (words.empty()) return;
  const auto rank = rank_of_peer_.find(peer);
  if (words[0] == "failed") {
    failure_.reported(rank != rank_of_peer_.end() ? rank->second : -1,
                      line.substr(std::min<std::size_t>(7, line.size())));
  } else if (words[0] == "rank" && words.size() >= 2) {
    const std::uint64_t number = whole_number_in(words[1]);
    if (number < outcome_.ranks.size()) rank_of_peer_[peer] = static_cast<int>(number);
  } else if (rank == rank_of_peer_.end()) {
    return;
  } else if (words[0] == "progress" && words.size() == 2) {
    if (rank->second == 0) progress_(whole_number_in(words[1]));
  } else if (words[0] == "row" && words.size() == 5) {
    on_row(words);
  } else if (words[0] == "size" && words.size() == 6) {
    if (rank->second == 0) on_size(words);
  } else if (words[0] == "tuned") {
    if (rank->second == 0) outcome_.tuned = line.substr(std::min<std::size_t>(6, line.size()));
  } else if (words[0] == "total" && words.size() == 5) {
    outcome_.ranks[static_cast<std::size_t>(rank->second)] = {number_in(words[1]), number_in(words[2]),
                                                              number_in(words[3]), whole_number_in(words[4])};
  } else if (words[0] == "done") {
    ++done_;
  }
}

void ReplayRunner::on_row(const std::vector<std::string>& words) {
  const std::uint64_t index = whole_number_in(words[1]);
  if (index >= outcome_.rows.size()) return;
  RowTotals& row = outcome_.rows[index];
  row.calls += whole_number_in(words[2]);
  row.time_us += number_in(words[3]);
  row.host_calls += whole_number_in(words[4]);
}

void ReplayRunner::on_size(const std::vector<std::string>& words) {
  const std::optional<OpKind> kind = parse_op_kind(words[1]);
  if (!kind) return;
  outcome_.sizes[*kind][whole_number_in(words[2])] = {whole_number_in(words[3]), whole_number_in(words[4]),
                                                      number_in(words[5])};
}

}  // namespace tutti::tools

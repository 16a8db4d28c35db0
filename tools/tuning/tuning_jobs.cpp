#include "tuning/tuning_jobs.hpp"

#include <csignal>
#include <utility>

namespace tutti::tools {

TuningJobs::TuningJobs() : signals_(loop_, [this](int number) { on_signal(number); }) {}

void TuningJobs::on_signal(int number) {
  if (number != SIGCHLD && number != SIGTSTP) interrupted_ = true;
  if (runner_ == nullptr) return;
  if (number == SIGCHLD) {
    runner_->on_child();
  } else if (number == SIGTSTP) {
    runner_->suspend();
  } else {
    runner_->stop();
  }
}

bool TuningJobs::run(const LaunchTarget& target, const SweepSettings& settings, SweepRunner::Events events,
                     std::vector<SweepCell> cells) {
  if (interrupted_) return false;
  SweepRunner runner(loop_, target, settings, std::move(events));
  runner_ = &runner;
  runner.run(std::move(cells));
  runner_ = nullptr;
  return !interrupted_;
}

}  // namespace tutti::tools

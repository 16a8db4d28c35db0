// Carries out what the ranks have decided.
#include <utility>

#include "engine/set_engine.hpp"

namespace tutti::horovod {

namespace {

constexpr const char* kJoinName = "join.noname";

}  // namespace

/// Puts the responses of a round into the schedule.
void SetEngine::admit(std::vector<Response> responses) {
  const bool overtakes = parameters_.partition > 0;
  for (Response& response : responses) {
    Job& job = schedule_.add(std::move(response), overtakes);
    // Rounds follow before a job that waits: its tensors must be those of now, not later ones of the same names.
    if (overtakes) job.entries = find_entries(job.response, &TensorQueue::find);
  }
  executor_.allow(parameters_.partition);
  is_performing_ = !schedule_.empty();
}

std::vector<EntryPointer> SetEngine::find_entries(const Response& response, Lookup lookup) {
  std::vector<EntryPointer> entries;
  entries.reserve(response.names.size());
  const Lock lock(mutex_);
  if (response.kind == MessageKind::join) {
    entries.push_back((queue_.*lookup)(kJoinName));
    if (entries.back() != nullptr) entries.back()->last_joined = response.last_joined;
  }
  for (const std::string& name : response.names) {
    entries.push_back((queue_.*lookup)(name));
    if (entries.back() != nullptr) entries.back()->is_taken = true;
  }
  return entries;
}

/// Begins the job; false if it is complete, because there is nothing to carry out.
bool SetEngine::begin(Job& job) {
  const Response& response = job.response;
  if (timeline_.is_running()) show_begin(response);
  if (job.entries) {
    const Lock lock(mutex_);
    for (const EntryPointer& entry : *job.entries) {
      if (entry != nullptr) (void)queue_.take(entry->request.name);
    }
  } else {
    job.entries = find_entries(response, &TensorQueue::take);
  }
  if (TensorStages::is_watched()) stages_.started(*job.entries);
  {
    const Lock lock(mutex_);
    executor_.set_device(device_.get());
  }
  job.has_begun = true;
  const std::optional<Error> error = response.kind == MessageKind::error
                                         ? std::optional(Error(ErrorCode::invalid_argument, response.error, "horovod"))
                                         : std::nullopt;
  if (!error && response.kind != MessageKind::join) {
    executor_.begin(job);
    return true;
  }
  complete(std::move(*job.entries), error ? &*error : nullptr);
  return false;
}

/// Carries out jobs until there are none, or until the ranks are to look for urgent tensors (true), or until the time
/// has passed (false).
bool SetEngine::perform(spi::Deadline until) {
  while (!schedule_.empty() && !executor_.is_spent()) {
    Job& job = schedule_.first();
    if (!job.has_begun && !begin(job)) {
      schedule_.remove_first();
      continue;
    }
    executor_.take_up(job);
    const Executor::Progress progress = carry_out(job, until);
    if (progress == Executor::Progress::unfinished) return false;
    executor_.leave();
    if (progress == Executor::Progress::paused) break;
    const Response& response = job.response;
    if (tuner_ != nullptr && response.kind == MessageKind::allreduce) {
      if (const auto next = tuner_->reduced(response.names, response.bytes(), Clock::now())) set_parameters(*next);
    }
    if (timeline_.is_running()) show_end(response);
    schedule_.remove_first();
  }
  is_performing_ = false;
  return true;
}

Executor::Progress SetEngine::carry_out(Job& job, spi::Deadline until) {
  Executor::Progress progress = Executor::Progress::unfinished;
  const auto advance = [&](spi::Deadline end) {
    progress = executor_.advance(end);
    return progress != Executor::Progress::unfinished;
  };
  try {
    (void)wait_in_slices(until, false, advance);
    if (progress == Executor::Progress::complete) complete(std::move(*job.entries), nullptr);
    return progress;
  } catch (const Error& error) {
    if (spi::ends_communicator(error.code())) throw;
    complete(std::move(*job.entries), &error);
    return Executor::Progress::complete;
  }
}

void SetEngine::complete(std::vector<EntryPointer> entries, const Error* error) {
  std::erase(entries, nullptr);
  if (TensorStages::is_watched()) stages_.ended(entries);
  for (const EntryPointer& entry : entries) {
    const Error* its = entry->error ? &*entry->error : error;
    if (entry->callback) {
      try {
        entry->callback(its);
      } catch (...) {
        // The callback is the application's; its error has no other place to go.
      }
    }
  }
  forget_stalled(entries);
  const Lock lock(mutex_);
  for (const EntryPointer& entry : entries) {
    if (error != nullptr && !entry->error) entry->error = *error;
    entry->is_done = true;
  }
  if (!stall_warning_.empty()) stall_warning_.clear();
  if (waiters_ > 0) driver_left_.notify_all();
}

}  // namespace tutti::horovod

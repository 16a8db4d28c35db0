#include "timeline/timeline.hpp"

#include <utility>

namespace tutti::horovod {

using Kind = TimelineEvent::Kind;

Timeline::~Timeline() { (void)stop(); }

void Timeline::start(const std::string& path, bool marks_cycles) {
  (void)stop();
  const std::lock_guard lock(mutex_);
  writer_.emplace(path);
  marks_cycles_ = marks_cycles;
  tensors_.clear();
  running_.store(true, std::memory_order_release);
}

std::string Timeline::stop() {
  const std::lock_guard lock(mutex_);
  running_.store(false, std::memory_order_release);
  if (!writer_) return {};
  std::string error = writer_->finish();
  writer_.reset();
  return error;
}

template <typename F>
void Timeline::with(const std::string& name, F&& f) {
  if (!is_running()) return;
  const std::lock_guard lock(mutex_);
  if (!writer_) return;
  Tensor& tensor = tensors_[name];
  if (tensor.number == 0) {
    tensor.number = static_cast<int>(tensors_.size());
    writer_->add({.kind = Kind::tensor, .tensor = tensor.number, .name = name, .arguments = {}, .time = {}});
  }
  f(tensor);
}

void Timeline::begin(const Tensor& tensor, std::string_view name, Time now) {
  writer_->add({.kind = Kind::begin, .tensor = tensor.number, .name = std::string(name), .arguments = {}, .time = now});
}

void Timeline::end(const Tensor& tensor, Time now, std::string arguments) {
  writer_->add(
      {.kind = Kind::end, .tensor = tensor.number, .name = {}, .arguments = std::move(arguments), .time = now});
}

void Timeline::negotiation_started(const std::string& tensor, std::string_view operation, Time now) {
  with(tensor, [&](Tensor& its) {
    if (its.state != State::unknown) return;
    begin(its, "NEGOTIATE_" + std::string(operation), now);
    its.state = State::negotiating;
  });
}

void Timeline::rank_ready(const std::string& tensor, int rank, Time now) {
  with(tensor, [&](Tensor& its) {
    if (its.state != State::negotiating) return;
    writer_->add(
        {.kind = Kind::instant, .tensor = its.number, .name = std::to_string(rank), .arguments = {}, .time = now});
  });
}

void Timeline::negotiation_ended(const std::string& tensor, Time now) {
  with(tensor, [&](Tensor& its) {
    if (its.state != State::negotiating) return;
    end(its, now);
    its.state = State::unknown;
  });
}

void Timeline::operation_started(const std::string& tensor, std::string_view operation, Time now) {
  with(tensor, [&](Tensor& its) {
    if (its.state != State::unknown) return;
    begin(its, operation, now);
    its.state = State::top_level;
  });
}

void Timeline::activity_started(const std::string& tensor, std::string_view activity, Time now) {
  with(tensor, [&](Tensor& its) {
    if (its.state == State::activity) {
      end(its, now);
      its.state = State::top_level;
    }
    if (its.state != State::top_level) return;
    begin(its, activity, now);
    its.state = State::activity;
  });
}

void Timeline::activity_started(std::span<const std::string> tensors, std::string_view activity, Time now) {
  for (const std::string& tensor : tensors) activity_started(tensor, activity, now);
}

void Timeline::activity_ended(const std::string& tensor, Time now) {
  with(tensor, [&](Tensor& its) {
    if (its.state != State::activity) return;
    end(its, now);
    its.state = State::top_level;
  });
}

void Timeline::activity_ended(std::span<const std::string> tensors, Time now) {
  for (const std::string& tensor : tensors) activity_ended(tensor, now);
}

void Timeline::operation_ended(const std::string& tensor, std::string_view type, std::string_view shape, Time now) {
  with(tensor, [&](Tensor& its) {
    if (its.state == State::activity) end(its, now);
    if (its.state == State::activity || its.state == State::top_level) {
      end(its, now,
          type.empty() ? "" : "\"dtype\": \"" + json_escaped(type) + "\", \"shape\": \"" + json_escaped(shape) + '"');
      its.state = State::unknown;
    }
  });
}

void Timeline::cycle_started(Time now) {
  if (!is_running()) return;
  const std::lock_guard lock(mutex_);
  if (!writer_ || !marks_cycles_) return;
  writer_->add({.kind = Kind::marker, .tensor = 0, .name = "CYCLE_START", .arguments = {}, .time = now});
}

}  // namespace tutti::horovod

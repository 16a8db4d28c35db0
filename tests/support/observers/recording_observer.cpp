#include "support/observers/recording_observer.hpp"

namespace tutti::test {

void RecordingObserver::on(const OpIssued& record) noexcept {
  const std::lock_guard lock(mutex_);
  issued_.push_back({record.id, record.operation.kind, record.rank, std::string(record.backend), record.emulated,
                     record.operation.count, std::string(record.operation.label), record.communicator});
}

void RecordingObserver::on(const CommunicatorCreated& record) noexcept {
  const std::lock_guard lock(mutex_);
  created_.push_back({record.communicator,
                      record.parent,
                      std::string(record.name),
                      std::string(record.backend),
                      record.rank,
                      record.size,
                      {record.hosts.begin(), record.hosts.end()}});
}

void RecordingObserver::on(const CommunicatorDestroyed& record) noexcept {
  const std::lock_guard lock(mutex_);
  destroyed_.push_back(record.communicator);
}

void RecordingObserver::on(const OpCompleted& record) noexcept {
  const std::lock_guard lock(mutex_);
  completed_.push_back({record.id, record.error});
}

void RecordingObserver::on(const HostCall& record) noexcept {
  const std::lock_guard lock(mutex_);
  calls_.push_back({record.cause, std::string(record.library), std::string(record.function), record.error,
                    record.end_ns - record.begin_ns});
}

void RecordingObserver::on(const Allocation& record) noexcept {
  const std::lock_guard lock(mutex_);
  allocations_.push_back({record.cause, std::string(record.owner), record.pointer, record.bytes});
}

void RecordingObserver::on(const Free& record) noexcept {
  const std::lock_guard lock(mutex_);
  frees_.push_back({record.cause, std::string(record.owner), record.pointer, record.bytes});
}

void RecordingObserver::on(const Traffic& record) noexcept {
  const std::lock_guard lock(mutex_);
  traffic_.push_back({record.cause, record.bytes});
}

void RecordingObserver::on(const DeviceInterval& record) noexcept {
  const std::lock_guard lock(mutex_);
  intervals_.push_back({record.cause, std::string(record.name), record.device, record.begin_ns, record.end_ns});
}

std::string RecordingObserver::call_names() const {
  std::string names;
  for (const Call& call : calls()) names += (names.empty() ? "" : " ") + call.function;
  return names;
}

void RecordingObserver::clear() {
  const std::lock_guard lock(mutex_);
  created_.clear();
  destroyed_.clear();
  issued_.clear();
  completed_.clear();
  calls_.clear();
  allocations_.clear();
  frees_.clear();
  traffic_.clear();
  intervals_.clear();
}

}  // namespace tutti::test

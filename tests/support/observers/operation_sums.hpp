#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "tutti/observer.hpp"

namespace tutti::test {

/// Sums up the records that belong to an operation; installed from construction to destruction.
class OperationSums : public Observer {
 public:
  using Observer::on;
  void on(const OpIssued& record) noexcept override { add("issued", record.id, 1); }
  void on(const OpCompleted& record) noexcept override {
    add(record.error == ErrorCode::ok ? "completed" : "failed", record.id, 1);
  }
  void on(const Traffic& record) noexcept override {
    add(std::string(name(record.from.kind)) + "->" + std::string(name(record.to.kind)), record.cause, record.bytes);
  }
  void on(const DeviceInterval& record) noexcept override { add(std::string(record.name), record.cause, 1); }
  void on(const Allocation& record) noexcept override {
    if (record.owner == "staging") add("pinned", record.cause, record.bytes);
  }
  /// Returns the sums so far and forgets them.
  [[nodiscard]] std::map<std::string, std::uint64_t> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(sums_, {});
  }

 private:
  void add(const std::string& what, OperationId cause, std::uint64_t value) noexcept {
    const std::lock_guard lock(mutex_);
    if (cause != 0) sums_[what] += value;
  }
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> sums_;
  ObserverHandle handle_ = add_observer(*this);  // last: removed before the records go
};

}  // namespace tutti::test

#pragma once

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tutti/observer.hpp"

namespace tutti::test {

/// Keeps a line of text for each record of a device; installed from construction to destruction.
class DeviceLedger : public Observer {
 public:
  using Observer::on;
  void on(const HostCall& call) noexcept override { add("call " + std::string(call.function)); }
  void on(const Allocation& record) noexcept override { add("allocate " + text(record.where, record.bytes)); }
  void on(const Free& record) noexcept override { add("free " + text(record.where, record.bytes)); }
  void on(const Traffic& record) noexcept override {
    add("move " + std::string(name(record.from.kind)) + "->" + text(record.to, record.bytes));
  }
  void on(const DeviceInterval& record) noexcept override {
    EXPECT_LE(record.begin_ns, record.end_ns);
    add(record.device.name() + " " + std::string(record.name));
  }
  /// Returns the lines so far and forgets them.
  [[nodiscard]] std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  static std::string text(Memory where, std::uint64_t bytes) {
    return std::string(name(where.kind)) + " " + std::to_string(bytes);
  }
  void add(std::string line) noexcept {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
  }
  std::mutex mutex_;
  std::vector<std::string> lines_;
  ObserverHandle handle_ = add_observer(*this);  // last: removed before the records go
};

}  // namespace tutti::test

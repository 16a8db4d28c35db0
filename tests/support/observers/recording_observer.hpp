#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "tutti/observer.hpp"

namespace tutti::test {

/// Keeps a copy of every record; installed from construction to destruction.
class RecordingObserver : public Observer {
 public:
  struct Issued {
    OperationId id;
    OpKind kind;
    int rank;
    std::string backend;
    bool emulated;
    std::uint64_t count;
    std::string label;
    std::uint64_t communicator;
  };
  struct Created {
    std::uint64_t communicator;
    std::uint64_t parent;
    std::string name;
    std::string backend;
    int rank;
    int size;
    std::vector<std::string> hosts;
  };
  struct Completed {
    OperationId id;
    ErrorCode error;
  };
  struct Call {
    OperationId cause;
    std::string library;
    std::string function;
    std::int64_t error;
    std::uint64_t duration_ns;
  };
  struct MemoryEvent {
    OperationId cause;
    std::string owner;
    const void* pointer;
    std::uint64_t bytes;
  };

  struct Moved {
    OperationId cause;
    std::uint64_t bytes;
  };
  struct Interval {
    OperationId cause;
    std::string name;
    Device device;
    std::uint64_t begin_ns;
    std::uint64_t end_ns;
  };

  using Observer::on;
  void on(const CommunicatorCreated& record) noexcept override;
  void on(const CommunicatorDestroyed& record) noexcept override;
  void on(const OpIssued& record) noexcept override;
  void on(const OpCompleted& record) noexcept override;
  void on(const HostCall& record) noexcept override;
  void on(const Allocation& record) noexcept override;
  void on(const Free& record) noexcept override;
  void on(const Traffic& record) noexcept override;
  void on(const DeviceInterval& record) noexcept override;

  [[nodiscard]] std::vector<Created> created() const { return copy(created_); }
  [[nodiscard]] std::vector<std::uint64_t> destroyed() const { return copy(destroyed_); }
  [[nodiscard]] std::vector<Issued> issued() const { return copy(issued_); }
  [[nodiscard]] std::vector<Completed> completed() const { return copy(completed_); }
  [[nodiscard]] std::vector<Call> calls() const { return copy(calls_); }
  [[nodiscard]] std::vector<MemoryEvent> allocations() const { return copy(allocations_); }
  [[nodiscard]] std::vector<MemoryEvent> frees() const { return copy(frees_); }
  [[nodiscard]] std::vector<Moved> traffic() const { return copy(traffic_); }
  [[nodiscard]] std::vector<Interval> intervals() const { return copy(intervals_); }
  /// "MPI_Allreduce MPI_Wait", for messages and comparisons.
  [[nodiscard]] std::string call_names() const;
  /// Forgets all records.
  void clear();

 private:
  template <typename T>
  [[nodiscard]] std::vector<T> copy(const std::vector<T>& records) const {
    const std::lock_guard lock(mutex_);
    return records;
  }

  mutable std::mutex mutex_;
  std::vector<Created> created_;
  std::vector<std::uint64_t> destroyed_;
  std::vector<Issued> issued_;
  std::vector<Completed> completed_;
  std::vector<Call> calls_;
  std::vector<MemoryEvent> allocations_;
  std::vector<MemoryEvent> frees_;
  std::vector<Moved> traffic_;
  std::vector<Interval> intervals_;
  ObserverHandle handle_ = add_observer(*this);  // last: removed before the records go
};

}  // namespace tutti::test

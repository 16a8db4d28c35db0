#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "results/sweep_results.hpp"
#include "tutti/observer.hpp"

namespace tutti::tools {

/// Counts what the operations of one kind cost this rank while the object exists: the records that such an operation
/// caused. Other operations, such as the barriers between the calls, are not counted.
///
/// A call into a library is a host call, and its time that of the call. The native engine makes none: there the
/// operation itself is the host call, and its time is what is left of it beside the calls into device runtimes.
class CountedCalls : public Observer {
 public:
  explicit CountedCalls(OpKind kind) : kind_(kind), handle_(add_observer(*this)) {}

  using Observer::on;
  void on(const OpIssued& record) noexcept override;
  void on(const OpCompleted& record) noexcept override;
  void on(const HostCall& record) noexcept override;
  void on(const Allocation& record) noexcept override;
  void on(const Free& record) noexcept override;
  void on(const Traffic& record) noexcept override;
  void on(const DeviceInterval& record) noexcept override;

  /// Counts so far; CellCounts::calls is the number of operations.
  [[nodiscard]] CellCounts counts() const;
  /// The leaf that carried the operations out.
  [[nodiscard]] std::string served_by() const;

 private:
  struct Counted {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t library_ns = 0;  ///< time of the calls into libraries
    bool is_native = false;
  };

  OpKind kind_;
  mutable std::mutex mutex_;
  std::map<OperationId, Counted> operations_;
  std::map<const void*, std::uint64_t> live_;  ///< bytes of memory that was allocated in counted calls
  std::uint64_t live_bytes_ = 0;
  std::uint64_t device_ns_ = 0;
  CellCounts counts_;
  std::string served_by_;
  ObserverHandle handle_;  // last: removed before the records go
};

/// The counts as blank-separated numbers, and back; counts_from() returns nothing for other texts.
[[nodiscard]] std::string to_text(const CellCounts& counts);
[[nodiscard]] std::optional<CellCounts> counts_from(std::string_view text);

/// The median of the calls in the text of SweepWord::device. Nothing for a text that was damaged on its way.
[[nodiscard]] DeviceUse median_device_use(std::string_view text);

}  // namespace tutti::tools

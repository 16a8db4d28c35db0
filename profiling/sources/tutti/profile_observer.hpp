#pragma once

#include <array>
#include <atomic>

#include "session/recorder.hpp"
#include "sources/tutti/communicator_ids.hpp"
#include "sources/tutti/device_ids.hpp"
#include "sources/tutti/library_functions.hpp"
#include "sources/tutti/pending_operations.hpp"
#include "tutti/observer.hpp"
#include "tutti/spi/tensors/tensor_stages.hpp"

namespace tutti::profiling {

/// Turns tutti's records into the recorder's. One per process.
class ProfileObserver final : public Observer, public spi::TensorStageObserver {
 public:
  ProfileObserver() noexcept;

  using Observer::on;
  void on(const CommunicatorCreated& record) noexcept override;
  void on(const OpIssued& record) noexcept override;
  void on(const OpCompleted& record) noexcept override;
  void on(const HostCall& record) noexcept override;
  void on(const Allocation& record) noexcept override;
  void on(const Free& record) noexcept override;
  void on(const Traffic& record) noexcept override;
  void on(const DeviceInterval& record) noexcept override;
  void on(const spi::TensorStage& stage) noexcept override;

  /// Context of the operation that the calling thread carries out.
  [[nodiscard]] ContextId context_of_thread() noexcept;

 private:
  static constexpr std::size_t kPlaces = 4;  ///< M, H, D, S

  void record_memory(Kind kind, OperationId cause, std::string_view owner, std::uint64_t bytes, Memory where,
                     std::uint64_t time_ns) noexcept;
  [[nodiscard]] NameId traffic_name(const Traffic& record) noexcept;
  /// Joins an operation and its work on a device.
  [[nodiscard]] std::uint64_t correlation_of(OperationId operation) const noexcept {
    return operation == 0 ? 0 : std::uint64_t{source_} << 56 | operation;
  }

  SourceId source_;
  bool is_wanted_;
  std::array<NameId, kOpKindCount> operation_names_ = {};
  std::array<std::atomic<NameId>, kPlaces* kPlaces> traffic_names_ = {};  ///< of the first runtime seen
  std::atomic<const char*> traffic_owner_ = nullptr;
  CommunicatorIds communicators_;
  DeviceIds devices_;
  LibraryFunctions functions_;
  PendingOperations pending_;
};

}  // namespace tutti::profiling

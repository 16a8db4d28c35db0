#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/entry.hpp"
#include "tutti/observer.hpp"
#include "tutti/spi/tensors/tensor_stages.hpp"

namespace tutti::horovod {

/// Tells the process's observer of stages how the tensors of an engine come along, on every rank. Without an observer a
/// call costs the test of a pointer. The times are in the entries; those of a tensor that was submitted before there
/// was an observer are 0, and its stages are left out. Used by the driver of the engine.
class TensorStages {
 public:
  TensorStages(std::string backend, int ranks) : backend_(std::move(backend)), ranks_(ranks) {}

  [[nodiscard]] static bool is_watched() noexcept { return spi::tensor_stage_observer() != nullptr; }
  /// Now, if somebody watches, else 0.
  [[nodiscard]] static std::uint64_t now() noexcept { return is_watched() ? observer_time_ns() : 0; }

  /// The tensors have left the queue of this rank, and the ranks negotiate about them.
  void negotiating(std::span<const EntryPointer> entries) const noexcept;
  /// All ranks have them: the operation begins.
  void started(std::span<const EntryPointer> entries) noexcept;
  /// A part of the operation begins, and the one before ends; an empty name: none begins.
  void activity(std::span<const EntryPointer> entries, std::string_view name);
  /// The operation has ended, with an error or without.
  void ended(std::span<const EntryPointer> entries) const noexcept;

 private:
  void tell(const Entry& entry, std::string_view stage, std::uint64_t begin_ns, std::uint64_t end_ns) const noexcept;

  std::string backend_;
  int ranks_;
  std::string activity_;           ///< empty: none
  std::uint64_t activity_ns_ = 0;  ///< its begin
};

}  // namespace tutti::horovod

#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "call/communicator_state.hpp"
#include "call/execution.hpp"
#include "staging/staging_areas.hpp"
#include "staging/thread_job.hpp"
#include "tutti/spi/device.hpp"

namespace tutti {

/// Carries out operations on host memory as if at the same time. Emulated operations block, so the others must be under
/// way before; collectives keep their order within each part, which is the same on all ranks. `backend` is that of the
/// communicator or a view of it, view(leaf) a leaf or a view of it.
template <typename View>
void run_group_on_host(const detail::CommunicatorState& state, spi::BackendCommunicator& backend,
                       std::span<Operation> ops, const View& view) {
  const auto is_supported = [&](const Operation& op) { return state.backend->route(op).capabilities().takes(op); };
  const auto middle = std::stable_partition(ops.begin(), ops.end(), is_supported);
  backend.run_group({ops.begin(), middle});
  for (auto op = middle; op != ops.end(); ++op) {
    auto&& leaf = view(state.backend->route(*op));
    emulate(state, leaf, *op);
  }
}

/// A group that the progress thread carries out. Device memory that neither the host nor the backend can reach is
/// copied to host memory as a whole and back.
class GroupJob final : public ThreadJob {
 public:
  /// Takes the memory that the group needs on its devices, but no place in a stream yet: a device may let an allocation
  /// wait for all its work, so every part of a group allocates before the first one closes a gate.
  GroupJob(const detail::CommunicatorState& state, StagingAreas& areas, std::span<const Operation> ops);

  /// Takes the places in the streams; called once, while the call lasts.
  void enter_streams();

  void wait_ready() override;
  void run(FairLock& lock) override;
  void settle() noexcept override;
  void open_gates() noexcept override;
  [[nodiscard]] bool exchanges_messages() const override;

 private:
  /// An operation that is staged.
  struct Entry {
    std::size_t index = 0;  ///< of the operation
    std::shared_ptr<StagingArea> area;
    std::unique_ptr<StagingSlot> slot;  ///< null: the host can reach the memory itself
  };

  /// The place of the group in a stream: one, however many of its operations use the stream.
  struct Place {
    Stream stream;
    std::unique_ptr<spi::DeviceEvent> ready;
    std::unique_ptr<spi::DeviceGate> gate;
  };

  const detail::CommunicatorState& state_;
  std::vector<Operation> ops_;
  std::vector<Entry> entries_;
  std::vector<Place> places_;
};

}  // namespace tutti

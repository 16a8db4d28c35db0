#include "device/device_exchange.hpp"

#include <vector>

namespace tutti::native {

DeviceExchange::DeviceExchange(Channels& channels, DeviceReach& reach, const Operation& operation,
                               const Meeting& meeting)
    : channels_(channels), reach_(reach), operation_(operation), meeting_(meeting), is_offer_(!reach.is_open()) {
  if (!is_offer_) {
    meeting_.enter_on_device(nullptr, 0);
    return;
  }
  const DeviceOffer mine = reach.offer(operation);
  meeting_.enter_on_device(&mine, sizeof(mine));
}

StepResult DeviceExchange::step() {
  if (phase_ == Phase::opening) return await_verdicts();
  if (!meeting_.meet_all()) return StepResult::blocked;
  return is_offer_ ? open() : StepResult::done;
}

StepResult DeviceExchange::open() {
  std::vector<const DeviceOffer*> offers;
  for (int r = 0; r < channels_.size(); ++r) {
    offers.push_back(reinterpret_cast<const DeviceOffer*>(meeting_.data(r, sizeof(DeviceOffer))));
  }
  if (!reach_.is_possible(operation_, offers)) return StepResult::done;
  const std::uint64_t opened = reach_.open(operation_, offers) ? 1 : 0;
  channels_.layout()
      .control(channels_.rank())
      .verdict.store(meeting_.number() << 1 | opened, std::memory_order_seq_cst);
  channels_.bells().notify_all();
  phase_ = Phase::opening;
  return StepResult::moved;
}

StepResult DeviceExchange::await_verdicts() {
  bool opened = true;
  for (int r = 0; r < channels_.size(); ++r) {
    const std::uint64_t verdict = channels_.layout().control(r).verdict.load(std::memory_order_seq_cst);
    if (verdict >> 1 != meeting_.number()) return StepResult::blocked;
    opened = opened && (verdict & 1) != 0;
  }
  if (!opened) reach_.give_up();
  return StepResult::done;
}

}  // namespace tutti::native

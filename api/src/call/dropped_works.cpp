#include "call/dropped_works.hpp"

#include <algorithm>
#include <utility>

#include "call/work_state.hpp"

namespace tutti::detail {

DroppedWorks::DroppedWorks() noexcept = default;

DroppedWorks::~DroppedWorks() { finish(); }

void DroppedWorks::finish() noexcept {
  for (const auto& work : works_) (void)work->progress_until(spi::Deadline::max());
  works_.clear();
}

void DroppedWorks::add(std::unique_ptr<WorkState> work) {
  const std::scoped_lock lock(mutex_);
  works_.push_back(std::move(work));
}

void DroppedWorks::look() {
  const std::scoped_lock lock(mutex_);
  // They end in the order of the calls, which is that of the drops for nearly all: no need to ask those behind one that
  // has not ended.
  const auto under_way = std::ranges::find_if(works_, [](const auto& work) { return !work->progress(); });
  works_.erase(works_.begin(), under_way);
}

void DroppedWorks::forget() noexcept {
  for (auto& work : works_) (void)work.release();
  works_.clear();
}

}  // namespace tutti::detail

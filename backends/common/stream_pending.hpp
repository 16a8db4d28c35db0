#pragma once

#include <functional>
#include <memory>

#include "common/shared_event.hpp"
#include "tutti/operation.hpp"
#include "tutti/spi/backend.hpp"

namespace tutti::common {

class StreamExecutor;

/// An operation that is complete when its stream has come to the event after it. May be destroyed before that: the
/// stream carries it out in any case.
class StreamPending final : public spi::PendingOperation {
 public:
  /// `finish` is called once, by whoever sees that the event was reached: for what the host does after that.
  StreamPending(StreamExecutor& executor, const Operation& operation, std::shared_ptr<SharedEvent> end,
                std::function<void()> finish);

 private:
  bool do_poll() override;
  bool do_wait(spi::Deadline until) override;

  StreamExecutor& executor_;
  Operation operation_;
  std::shared_ptr<SharedEvent> end_;
  std::function<void()> finish_;
  spi::Deadline deadline_ = spi::Deadline::max();
  spi::Deadline next_look_;  ///< at the library, whether it met an error
};

}  // namespace tutti::common

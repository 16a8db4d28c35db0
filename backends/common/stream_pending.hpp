#pragma once

#include <memory>

#include "common/shared_event.hpp"
#include "common/stream_library.hpp"
#include "tutti/spi/backend.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::common {

class StreamExecutor;

/// An operation that is complete when its stream has reached the event after it. May be destroyed before: the stream
/// carries out the operation in any case.
class StreamPending final : public spi::PendingOperation {
 public:
  StreamPending(StreamExecutor& executor, const Operation& operation, std::shared_ptr<SharedEvent> end,
                StreamLibrary::Finish finish);

 private:
  bool do_poll() override;
  bool do_wait(spi::Deadline until) override;

  StreamExecutor& executor_;
  Operation operation_;
  std::shared_ptr<SharedEvent> end_;
  StreamLibrary::Finish finish_;
  spi::Deadline deadline_ = spi::Deadline::max();
  spi::Deadline next_look_;  ///< when to ask the library for errors next
};

}  // namespace tutti::common

#pragma once

#include <memory>

#include "ccl_worker.hpp"
#include "tutti/spi/backend.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::ccl {

class Communicator;

/// An operation that was submitted to a worker.
class Pending final : public spi::PendingOperation {
 public:
  Pending(Communicator& communicator, const Operation& operation, Worker& worker, Worker::Work work);
  /// oneCCL cannot cancel an operation: if it is not complete, the communicator is given up.
  ~Pending() override;

 private:
  bool do_poll() override;
  bool do_wait(spi::Deadline until) override;
  [[nodiscard]] bool finish_if_done();

  Communicator& communicator_;
  Operation operation_;
  spi::Deadline deadline_ = spi::Deadline::max();
  Worker& worker_;
  std::shared_ptr<Worker::Task> task_;
};

}  // namespace tutti::ccl

#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tutti/export.hpp"
#include "tutti/spi/backend.hpp"

namespace tutti::spi {

/// Group of operations, complete when all of them are. An operation is polled only after all before it are complete.
class TUTTI_API PendingGroup final : public PendingOperation {
 public:
  explicit PendingGroup(std::vector<std::unique_ptr<PendingOperation>> operations) noexcept
      : operations_(std::move(operations)) {}

 private:
  bool do_poll() override;
  bool do_wait(Deadline until) override;

  std::vector<std::unique_ptr<PendingOperation>> operations_;
  std::size_t complete_ = 0;  ///< number of complete operations at the front
};

}  // namespace tutti::spi

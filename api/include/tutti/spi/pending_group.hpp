#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tutti/export.hpp"
#include "tutti/spi/backend.hpp"

namespace tutti::spi {

/// Operations that are complete when all are. Looked at in order: the last may count on the others being complete.
class TUTTI_API PendingGroup final : public PendingOperation {
 public:
  explicit PendingGroup(std::vector<std::unique_ptr<PendingOperation>> operations) noexcept
      : operations_(std::move(operations)) {}

 private:
  bool do_poll() override;
  bool do_wait(Deadline until) override;

  std::vector<std::unique_ptr<PendingOperation>> operations_;
  std::size_t complete_ = 0;  ///< the first of them
};

}  // namespace tutti::spi

#pragma once

#include <cstdint>

#include "algorithms/meeting.hpp"
#include "algorithms/shares.hpp"
#include "segment/channels.hpp"
#include "tutti/spi/kernels.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::native {

/// Parameters of the reduction kernels for an operation, without streaming.
[[nodiscard]] inline spi::ReduceTuning reduce_tuning(const Operation& operation, int ranks) noexcept {
  return {.prescale = operation.prescale,
          .divisor = operation.reduction == Reduction::average ? static_cast<std::uint64_t>(ranks) : 1,
          .streamed_outputs = 0};
}

/// allreduce, reduce and reduce_scatter(v) of vectors that do not fit the mailboxes. The vector is split by owner. Each
/// rank streams the parts that others own through pair rings, combines its own part in rank order as soon as all ranks
/// have delivered a chunk, and streams results back through its broadcast ring. The three stages of neighbouring chunks
/// overlap, and all data that passes between ranks stays in the cache.
class ReducePipeline {
 public:
  ReducePipeline(Channels& channels, const Operation& operation, const Meeting& meeting);

  /// Bytes of the chunks of an operation whose longest share has that many bytes.
  [[nodiscard]] static std::uint64_t chunk(const Geometry& geometry, OpKind kind, std::uint64_t longest) noexcept;
  [[nodiscard]] StepResult step();
  [[nodiscard]] int waits_for() const noexcept { return kAnyone; }
  [[nodiscard]] bool has_met_all() const noexcept { return meeting_.has_met_all(); }
  [[nodiscard]] const Meeting& meeting() const noexcept { return meeting_; }

 private:
  bool deliver(int owner);
  bool combine();
  bool collect(int owner);

  Channels& channels_;
  const Operation& operation_;
  Meeting meeting_;
  spi::ReduceKernel kernel_;
  spi::ReduceTuning tuning_;
  std::uint64_t size_;   // bytes of an element
  Shares shares_;        // by owner
  std::uint64_t chunk_;  // elements
  std::uint64_t combined_ = 0;
  std::uint64_t open_;     // elements still to be delivered, combined or collected
  bool writes_ = true;     // the part that this rank combines goes to its output
  bool publishes_ = true;  // the part that this rank combines goes to its broadcast ring
  bool collects_ = true;   // this rank wants the parts that others combine
  bool streaming_;
};

}  // namespace tutti::native

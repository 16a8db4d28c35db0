#pragma once

#include <cstdint>
#include <vector>

#include "tutti/communicator.hpp"

namespace tutti::test {

/// Buffers for one call of every operation; allocated before a test counts allocations.
class OneOfEach {
 public:
  OneOfEach(const Communicator& comm, std::uint64_t count)
      : comm_(comm),
        block_(count, 1.0F),
        other_block_(count),
        blocks_(count * static_cast<std::uint64_t>(comm.size()), 1.0F),
        other_blocks_(blocks_.size()),
        counts_(static_cast<std::size_t>(comm.size()), count) {}

  /// Runs an operation to its end; all ranks must call this.
  void run(OpKind kind, const ReduceOptions& options = {}) {
    const Blocks layout{.counts = counts_};
    switch (kind) {
      case OpKind::allreduce:
        comm_.allreduce(block_, other_block_, options);
        break;
      case OpKind::allgather:
        comm_.allgather(block_, blocks_);
        break;
      case OpKind::allgatherv:
        comm_.allgatherv(block_, blocks_, layout);
        break;
      case OpKind::reduce_scatter:
        comm_.reduce_scatter(blocks_, block_, options);
        break;
      case OpKind::reduce_scatterv:
        comm_.reduce_scatterv(blocks_, layout, block_, options);
        break;
      case OpKind::broadcast:
        comm_.broadcast(block_, 0);
        break;
      case OpKind::reduce:
        comm_.reduce(block_, other_block_, 0, options);
        break;
      case OpKind::gather:
        comm_.gather(block_, blocks_, 0);
        break;
      case OpKind::gatherv:
        comm_.gatherv(block_, blocks_, layout, 0);
        break;
      case OpKind::scatter:
        comm_.scatter(blocks_, block_, 0);
        break;
      case OpKind::scatterv:
        comm_.scatterv(blocks_, layout, block_, 0);
        break;
      case OpKind::alltoall:
        comm_.alltoall(blocks_, other_blocks_);
        break;
      case OpKind::alltoallv:
        comm_.alltoallv(blocks_, layout, other_blocks_, layout);
        break;
      // Rank 0 sends one message to rank 1; the others do nothing.
      case OpKind::send:
      case OpKind::recv:
        if (comm_.rank() == 0) comm_.send(block_, 1);
        if (comm_.rank() == 1) comm_.recv(block_, 0);
        break;
      case OpKind::barrier:
        comm_.barrier();
        break;
    }
  }

 private:
  const Communicator& comm_;
  std::vector<float> block_;
  std::vector<float> other_block_;
  std::vector<float> blocks_;
  std::vector<float> other_blocks_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace tutti::test
